#include "scheduler/layout.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "ir/sizes.h"
#include "scheduler/dim_map.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using Layouts = std::map<const ir::Value*, Layout>;
using IsFree = std::function<bool(const ir::Value*)>;

// Null where nothing changes.
Match matched_again(const Candidate& candidate, const Layouts& layouts) {
  Region region = candidate.region();
  for (auto& [value, layout] : region.layouts)
    if (const auto found = layouts.find(value); found != layouts.end()) layout = found->second;
  if (region.layouts == candidate.region().layouts) return CandidatePtr();
  return match_region(region, candidate.target());
}

// The layout of an output that follows from the largest of the inputs that have one.
std::optional<Layout> following(const Region& region, const ir::Value* output,
                                const Layouts& chosen) {
  std::vector<const ir::Value*> inputs;
  for (const ir::Value* input : region.inputs)
    if (!input->is_constant() && chosen.contains(input)) inputs.push_back(input);
  std::ranges::stable_sort(inputs, std::greater(), ir::usual_numel);
  for (const ir::Value* input : inputs)
    if (auto layout = layout_of_result(region, output, input, chosen.at(input))) return layout;
  return std::nullopt;
}

// Kernels of elements and of rows walk through all of their buffers in one order, where they can:
// what one of them has becomes the layouts of the others, until nothing changes.
void spread_orders(const IsFree& is_free, const std::vector<ScheduledRegion>& regions,
                   Layouts& chosen) {
  const auto is_open = [&](const ir::Value* value) {
    return value->rank() >= 3 && is_free(value) && !value->is_constant() && !chosen.contains(value);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Region& region : regions) {
      if (region.anchor && region.anchor->op->kind != ir::OpKind::reduce) continue;
      for (const ir::Value* output : region.outputs) {
        if (is_open(output)) {
          if (const auto layout = following(region, output, chosen))
            changed |= chosen.emplace(output, *layout).second;
        }
        if (!chosen.contains(output)) continue;
        for (const ir::Value* input : region.inputs)
          if (is_open(input))
            if (const auto layout = layout_of_operand(region, input, output, chosen.at(output)))
              changed |= chosen.emplace(input, *layout).second;
      }
    }
  }
}

void assign_orders(const IsFree& is_free, std::vector<ScheduledRegion>& regions) {
  Layouts chosen;
  for (const ScheduledRegion& region : regions)
    for (const LayoutWish& wish : region.candidate().order_wishes())
      if (is_free(wish.value)) chosen.emplace(wish.value, wish.layout);
  if (chosen.empty()) return;
  spread_orders(is_free, regions, chosen);
  std::vector<CandidatePtr> others;
  for (size_t r = 0; r < regions.size(); ++r) {
    Match other = matched_again(regions[r].candidate(), chosen);
    if (other) {
      others.push_back(*std::move(other));
      continue;
    }
    // No template takes the region with these layouts: its buffers keep theirs.
    for (const auto& [value, layout] : regions[r].region().layouts) chosen.erase(value);
    others.clear();
    r = static_cast<size_t>(-1);
  }
  for (size_t r = 0; r < regions.size(); ++r)
    if (others[r]) regions[r] = ScheduledRegion(std::move(others[r]));
}

using Changes = std::vector<std::pair<ScheduledRegion*, CandidatePtr>>;

// The regions that change where the value has its layout wherever it stands; nothing where no
// template takes one of them then.
std::optional<Changes> changes_of(std::vector<ScheduledRegion>& regions, const LayoutWish& wish) {
  Changes changes;
  for (ScheduledRegion& region : regions) {
    if (!region.region().layouts.contains(wish.value)) continue;
    Match match = matched_again(region.candidate(), {{wish.value, wish.layout}});
    if (!match) return std::nullopt;
    if (*match) changes.emplace_back(&region, *std::move(match));
  }
  return changes;
}

void make(Changes changes) {
  for (auto& [region, other] : changes) *region = ScheduledRegion(std::move(other));
}

// Where rows are stored across the order in which they are read, as a norm behind which dims are
// exchanged stores them, the value may lie as what is read does. The kernels that read it are
// matched again; it is done where the estimates of all take less time.
void weigh_order(std::vector<ScheduledRegion>& regions, const LayoutWish& wish) {
  std::optional<Changes> changes = changes_of(regions, wish);
  if (!changes) return;
  double before = 0, after = 0;
  for (const auto& [region, other] : *changes) {
    before += region->candidate().default_seconds();
    after += other->default_seconds();
  }
  if (after < before) make(*std::move(changes));
}

void weigh_orders(const IsFree& is_free, std::vector<ScheduledRegion>& regions) {
  for (size_t r = 0; r < regions.size(); ++r) {
    if (!regions[r].region().anchor || regions[r].region().anchor->op->kind != ir::OpKind::reduce)
      continue;
    const std::vector<const ir::Value*> outputs = regions[r].region().outputs;
    for (const ir::Value* output : outputs) {
      const Region& region = regions[r];
      if (output->rank() < 2 || !is_free(output)) continue;
      const auto layout = following(region, output, region.layouts);
      if (layout && *layout != region.layout(output)) weigh_order(regions, {output, *layout});
    }
  }
}

// Gives the value its layout wherever it stands; not at all where no template takes a region then,
// or another one than before, except one that turns layouts.
void grant(std::vector<ScheduledRegion>& regions, const LayoutWish& wish) {
  std::optional<Changes> changes = changes_of(regions, wish);
  const auto is_other = [](const auto& change) {
    const auto& [region, other] = change;
    return &other->kernel_template() != &region->candidate().kernel_template() &&
           !other->turns_layouts();
  };
  if (changes && std::ranges::none_of(*changes, is_other)) make(*std::move(changes));
}

void assign_rows(const IsFree& is_free, std::vector<ScheduledRegion>& regions) {
  std::set<const ir::Value*> done;
  for (size_t r = 0; r < regions.size(); ++r)
    for (const LayoutWish& wish : regions[r].candidate().row_wishes())
      if (is_free(wish.value) && done.insert(wish.value).second) grant(regions, wish);
}

}  // namespace

Layout channels_last(const ir::Shape& shape) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return Layout::ordered(shape, order);
}

bool has_free_layout(const ir::Graph& graph, const ir::Value* value) {
  if (value->is_constant()) return !value->is_mutable;
  return value->producer && !value->producer->stored_in() &&
         std::find(graph.outputs.begin(), graph.outputs.end(), value) == graph.outputs.end();
}

void assign_layouts(const ir::Graph& graph, std::vector<ScheduledRegion>& regions,
                    const std::set<const ir::Value*>& free) {
  const IsFree is_free = [&](const ir::Value* value) {
    return free.contains(value) || has_free_layout(graph, value);
  };
  assign_orders(is_free, regions);
  weigh_orders(is_free, regions);
  assign_rows(is_free, regions);
}

}  // namespace tcc::sched
