#include "scheduler/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "support/checked.h"

namespace tcc::sched {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

// First fit in the given order: each at the lowest offset that is free for its whole life.
int64_t place(std::vector<Lifetime>& lifetimes, const std::vector<size_t>& order) {
  int64_t size = 0;
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    Lifetime& current = lifetimes[i];
    int64_t offset = 0;
    for (size_t j : placed) {
      const Lifetime& other = lifetimes[j];
      if (!meet(current, other)) continue;
      if (offset + current.bytes <= other.offset) break;
      offset = std::max(offset, other.offset + other.bytes);
    }
    current.offset = offset;
    size = std::max(size, offset + current.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t a, size_t b) {
                                     return lifetimes[a].offset < lifetimes[b].offset;
                                   }),
                  i);
  }
  return size;
}

}  // namespace

std::vector<Lifetime> lifetimes(const ir::Graph& graph, const std::vector<const Region*>& order,
                                Workspaces workspaces, std::span<const StateUpdate> updates) {
  std::set<const ir::Value*> outside(graph.outputs.begin(), graph.outputs.end());
  for (const StateUpdate& update : updates)
    if (update.is_direct) outside.insert(update.next);
  std::map<const ir::Value*, size_t> number;
  std::vector<Lifetime> result;
  for (size_t step = 0; step < order.size(); ++step) {
    for (const ir::Value* value : order[step]->inputs)
      if (auto found = number.find(value); found != number.end())
        result[found->second].last = static_cast<int>(step);
    for (const ir::Value* value : order[step]->outputs) {
      if (outside.count(value)) continue;
      number[value] = result.size();
      Lifetime lifetime;
      lifetime.value = value;
      lifetime.size = order[step]->layout(value).elements * size_bytes(value->dtype());
      lifetime.bytes = round_up(std::max<int64_t>(lifetime.size.usual(), 1), kArenaAlignment);
      lifetime.first = lifetime.last = static_cast<int>(step);
      result.push_back(lifetime);
    }
    if (workspaces.empty()) continue;
    for (const Workspace& workspace : *workspaces[step]) {
      Lifetime lifetime;
      lifetime.workspace = static_cast<int>(&workspace - workspaces[step]->data());
      lifetime.size = workspace.bytes();
      lifetime.bytes = round_up(std::max<int64_t>(lifetime.size.usual(), 1), kArenaAlignment);
      lifetime.first = lifetime.last = static_cast<int>(step);
      result.push_back(lifetime);
    }
  }
  for (const StateUpdate& update : updates)
    if (const auto found = number.find(update.next); found != number.end())
      result[found->second].last = static_cast<int>(order.size());
  return result;
}

int64_t live_peak(const std::vector<Lifetime>& lifetimes) {
  std::map<int, int64_t> change;
  for (const Lifetime& l : lifetimes) {
    change[l.first] += l.bytes;
    change[l.last + 1] -= l.bytes;
  }
  int64_t live = 0, peak = 0;
  for (const auto& [step, delta] : change) peak = std::max(peak, live += delta);
  return peak;
}

int64_t plan_arena(std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  auto length = [](const Lifetime& l) { return int64_t{l.last} - l.first + 1; };
  using Before = std::function<bool(const Lifetime&, const Lifetime&)>;
  const Before orders[] = {
      [](const Lifetime& a, const Lifetime& b) { return a.bytes > b.bytes; },
      [&](const Lifetime& a, const Lifetime& b) { return length(a) > length(b); },
      [&](const Lifetime& a, const Lifetime& b) {
        return a.bytes * length(a) > b.bytes * length(b);
      },
      [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; },
      [&](const Lifetime& a, const Lifetime& b) { return a.last > b.last; },
  };
  int64_t lower = live_peak(lifetimes), best = -1;
  std::vector<Lifetime> best_plan = lifetimes;
  for (const Before& before : orders) {
    std::vector<size_t> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](size_t a, size_t b) { return before(lifetimes[a], lifetimes[b]); });
    int64_t size = place(lifetimes, sorted);
    if (best < 0 || size < best) {
      best = size;
      best_plan = lifetimes;
    }
    if (best == lower) break;
  }
  lifetimes = best_plan;
  return std::max<int64_t>(best, 0);
}

namespace {

// A part of the arena for values that live at different times, none larger than `size`.
struct Slot {
  SymInt offset, size;
  int stage;
  std::vector<const Lifetime*> users;

  bool takes(const Lifetime& other, int its_stage) const {
    return stage == its_stage && (size - other.size).range().lo >= 0 &&
           std::ranges::none_of(users, [&](const Lifetime* user) { return meet(*user, other); });
  }
};

// Adds places for the lifetimes `open` behind plan.bytes.
void place_open(std::vector<size_t> open, const CountedStages& stages, ArenaPlan& plan) {
  const auto stage_of = [&](size_t i) { return stages.of({&plan.lifetimes[i].size, 1}); };
  std::ranges::stable_sort(open, std::greater<>(),
                           [&](size_t i) { return plan.lifetimes[i].bytes; });
  std::ranges::stable_sort(open, std::less<>(), stage_of);
  std::vector<Slot> slots;
  for (const size_t i : open) {
    const Lifetime& lifetime = plan.lifetimes[i];
    const int stage = stage_of(i);
    auto slot =
        std::ranges::find_if(slots, [&](const Slot& s) { return s.takes(lifetime, stage); });
    if (slot == slots.end()) {
      slots.push_back({plan.bytes, lifetime.size, stage, {}});
      plan.bytes = plan.bytes + ir::ceildiv(lifetime.size, kArenaAlignment) * kArenaAlignment;
      slot = slots.end() - 1;
    }
    slot->users.push_back(&lifetime);
    plan.offsets[i] = slot->offset;
  }
}

}  // namespace

ArenaPlan plan_memory(std::vector<Lifetime> lifetimes, const CountedStages& stages) {
  ArenaPlan plan;
  plan.lifetimes = std::move(lifetimes);
  plan.offsets.resize(plan.lifetimes.size());
  std::vector<Lifetime> fixed;
  std::vector<size_t> fixed_numbers, open;
  for (size_t i = 0; i < plan.lifetimes.size(); ++i) {
    const Lifetime& lifetime = plan.lifetimes[i];
    (lifetime.size.is_const() ? fixed_numbers : open).push_back(i);
    if (lifetime.size.is_const()) fixed.push_back(lifetime);
  }
  plan.bytes = plan_arena(fixed);
  plan.live_peak = live_peak(plan.lifetimes);
  for (size_t i = 0; i < fixed.size(); ++i) plan.offsets[fixed_numbers[i]] = fixed[i].offset;
  place_open(std::move(open), stages, plan);
  return plan;
}

}  // namespace tcc::sched
