#include "scheduler/fusion_groups.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "ir/append.h"
#include "ir/sizes.h"
#include "scheduler/region_text.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {

using ir::Node;
using ir::OpKind;
using ir::Value;

namespace {

// A cast to a type that is no smaller than what lies in memory, or larger than what is computed:
// reading the original costs no more, and storing it costs less.
bool widens(const Node& node) {
  const Value* from = node.inputs.empty() ? nullptr : node.inputs[0];
  if (node.op_name() != "cast" || !from) return false;
  const int before = size_bytes(from->dtype()), after = size_bytes(node.outputs[0]->dtype());
  return from->producer ? before < after : before <= after;
}

bool anchors_rows(const Node& node) {
  return node.op->kind == OpKind::reduce || node.op->kind == OpKind::scan ||
         node.op->kind == OpKind::sort || node.op->kind == OpKind::suppress;
}

}  // namespace

FusionGroups::FusionGroups(const ir::Graph& graph, const Target& target,
                           const RegionPrecision& precision)
    : graph_(graph), target_(target), precision_(precision), stages_(graph), uses_(graph.uses()) {
  for (const auto& node : graph.nodes()) {
    position_.emplace(node.get(), position_.size());
    bool is_output = std::any_of(node->outputs.begin(), node->outputs.end(), [&](const Value* v) {
      auto found = uses_.find(v);
      return found != uses_.end() && found->second.outputs > 0;
    });
    bool free = (node->op->kind == OpKind::view && !is_copy(node.get())) || widens(*node) ||
                is_made_of_indices(*node);
    if (free && !is_output) light_.insert(node.get());
  }
}

bool FusionGroups::is_made_of_indices(const Node& node) {
  double slots = 0;
  for (const Value* input : node.inputs) {
    if (!input || is_number(input)) continue;
    const auto made = index_slots_.find(input);
    if (made == index_slots_.end()) return false;
    slots += made->second;
  }
  if (node.op->kind != OpKind::pointwise && node.op->kind != OpKind::view) return false;
  if (work(&node).is_long()) return false;
  // An expression of no operand is light. So is what a few more operations make of it.
  const bool is_first = slots == 0;
  slots += work(&node).slots;
  if (!is_first && slots > kLoadSlots) return false;
  index_slots_[node.outputs[0]] = slots;
  return node.op->kind == OpKind::pointwise;
}

void FusionGroups::start(const std::vector<const Node*>& nodes) {
  for (const Node* node : nodes) group_of_[node] = static_cast<int>(groups_.size());
  groups_.push_back(nodes);
}

void FusionGroups::forget(size_t group) {
  // Single nodes are asked for again: whether a contraction has a kernel of its own.
  const auto& nodes = groups_[group];
  if (nodes.size() > 1) matches_.erase({nodes.begin(), nodes.end()});
}

void FusionGroups::add(size_t group, const Node* node) {
  forget(group);
  group_of_[node] = static_cast<int>(group);
  groups_[group].push_back(node);
}

void FusionGroups::merge(size_t from, size_t into) {
  forget(from);
  forget(into);
  for (const Node* node : groups_[from]) group_of_[node] = static_cast<int>(into);
  auto& nodes = groups_[into];
  nodes.insert(nodes.end(), groups_[from].begin(), groups_[from].end());
  std::sort(nodes.begin(), nodes.end(),
            [&](const Node* a, const Node* b) { return position_.at(a) < position_.at(b); });
  groups_[from].clear();
}

void FusionGroups::claim(const Node* light, size_t group) {
  // Regions that computed the node themselves read its value now, and what it is made of may no
  // longer be stored.
  forget_readers(light);
  light_.erase(light);
  add(group, light);
}

void FusionGroups::unclaim_last() {
  TCC_CHECK(!groups_.empty() && groups_.back().size() == 1, "the last group claims no node alone");
  const Node* light = groups_.back().front();
  groups_.pop_back();
  group_of_.erase(light);
  light_.insert(light);
  forget_readers(light);
}

void FusionGroups::forget_readers(const Node* light) {
  std::set<const Node*> neighbours;
  find_neighbours(light, neighbours);
  std::erase_if(matches_, [&](const auto& entry) {
    return std::any_of(entry.first.begin(), entry.first.end(),
                       [&](const Node* node) { return node == light || neighbours.count(node); });
  });
}

void FusionGroups::find_neighbours(const Node* light, std::set<const Node*>& into) const {
  std::set<const Node*> seen;
  std::function<void(const Node*, bool)> follow = [&](const Node* node, bool up) {
    if (!is_light(node)) {
      into.insert(node);
      return;
    }
    if (node != light && !seen.insert(node).second) return;
    if (up) {
      for (const Value* input : node->inputs)
        if (input && input->producer) follow(input->producer, true);
      return;
    }
    for (const Value* output : node->outputs)
      if (const auto uses = uses_.find(output); uses != uses_.end())
        for (const Node* user : uses->second.nodes) follow(user, false);
  };
  follow(light, true);
  seen.clear();
  follow(light, false);
}

int FusionGroups::last_producer(const Node* node) const {
  int last = -1;
  for (const Value* input : node->inputs)
    if (input) last = std::max(last, last_producer(*input));
  return last;
}

int FusionGroups::last_producer(const Value& value) const {
  if (!value.producer) return -1;
  return is_light(value.producer) ? last_producer(value.producer) : group_of_.at(value.producer);
}

void FusionGroups::add_producers(const Value& value, std::set<int>& groups) const {
  if (!value.producer) return;
  if (!is_light(value.producer)) {
    groups.insert(group_of_.at(value.producer));
    return;
  }
  for (const Value* input : value.producer->inputs)
    if (input) add_producers(*input, groups);
}

void FusionGroups::find_consumers(const Value* value, const std::set<const Node*>& inside,
                                  std::set<int>& groups) const {
  auto found = uses_.find(value);
  if (found == uses_.end()) return;
  if (found->second.outputs > 0) groups.insert(-1);
  for (const Node* user : found->second.nodes) {
    if (inside.count(user)) continue;
    if (is_light(user)) {
      for (const Value* output : user->outputs) find_consumers(output, inside, groups);
    } else {
      auto group = group_of_.find(user);
      groups.insert(group == group_of_.end() ? -1 : group->second);
    }
  }
}

std::set<int> FusionGroups::consumers(size_t group) const {
  std::set<const Node*> inside(groups_[group].begin(), groups_[group].end());
  std::set<int> consumers;
  for (const Node* node : groups_[group])
    for (const Value* output : node->outputs) find_consumers(output, inside, consumers);
  return consumers;
}

int FusionGroups::only_consumer(size_t group) const {
  const std::set<int> consumers = this->consumers(group);
  return consumers.size() == 1 ? *consumers.begin() : -1;
}

const Node* FusionGroups::only_user(const Value* value) const {
  auto found = uses_.find(value);
  if (found == uses_.end() || found->second.outputs > 0 || found->second.nodes.size() != 1)
    return nullptr;
  return found->second.nodes[0];
}

bool FusionGroups::is_only_for(size_t group, const Node* node) const {
  std::set<const Node*> readers;
  for (const Node* of : groups_[group])
    for (const Value* output : of->outputs) find_readers(output, readers);
  for (const Node* of : groups_[group]) readers.erase(of);
  return readers.size() == 1 && *readers.begin() == node;
}

void FusionGroups::find_readers(const Value* value, std::set<const Node*>& into) const {
  const auto found = uses_.find(value);
  if (found == uses_.end()) return;
  if (found->second.outputs > 0) into.insert(nullptr);
  for (const Node* user : found->second.nodes) {
    if (is_light(user))
      for (const Value* output : user->outputs) find_readers(output, into);
    else
      into.insert(user);
  }
}

bool FusionGroups::is_made_for_rows(const Node* node) const {
  if (node->op->kind != OpKind::pointwise || work(node).is_long() || work(node).slots > kLoadSlots)
    return false;
  std::set<const Node*> readers;
  for (const Value* output : node->outputs) find_readers(output, readers);
  const bool only_rows = !readers.empty() && std::ranges::all_of(readers, [](const Node* reader) {
    return reader && reader->op->kind == OpKind::reduce;
  });
  if (!only_rows) return false;
  // Is all that it is made of read by others?
  std::function<bool(const Value*)> is_stored = [&](const Value* value) {
    if (!value || !value->producer) return true;
    if (is_light(value->producer)) return std::ranges::all_of(value->producer->inputs, is_stored);
    std::set<const Node*> others;
    find_readers(value, others);
    return others.size() > 1;
  };
  return std::ranges::all_of(node->inputs, is_stored);
}

bool FusionGroups::is_pointwise(size_t group) const {
  return std::all_of(groups_[group].begin(), groups_[group].end(), [](const Node* node) {
    return node->op->kind == OpKind::pointwise || node->op->kind == OpKind::view;
  });
}

bool FusionGroups::is_reduction(size_t group) const {
  return std::any_of(groups_[group].begin(), groups_[group].end(),
                     [](const Node* node) { return node->op->kind == OpKind::reduce; });
}

bool FusionGroups::has_contraction(size_t group) const {
  return std::any_of(groups_[group].begin(), groups_[group].end(),
                     [](const Node* node) { return node->op->kind == OpKind::contraction; });
}

bool FusionGroups::has_products(size_t group) const {
  return std::ranges::count_if(groups_[group], [](const Node* node) {
           return node->op->kind == OpKind::contraction;
         }) > 1;
}

const OpWork& FusionGroups::work(const Node* node) const {
  auto found = works_.find(node);
  if (found == works_.end()) found = works_.emplace(node, op_work(*node)).first;
  return found->second;
}

double FusionGroups::slots(const std::vector<const Node*>& nodes) const {
  double slots = 0;
  for (const Node* node : nodes) {
    if (node->op->kind != OpKind::pointwise && node->op->kind != OpKind::view)
      return std::numeric_limits<double>::infinity();
    slots += static_cast<double>(ir::usual_stored(node->outputs[0])) * work(node).slots;
  }
  return slots / elements(nodes);
}

double FusionGroups::elements(const std::vector<const Node*>& nodes) const {
  int64_t elements = 1;
  for (const Node* node : nodes) elements = std::max(elements, ir::usual_stored(node->outputs[0]));
  return static_cast<double>(elements);
}

GroupBytes FusionGroups::bytes(const std::vector<const Node*>& nodes) const {
  GroupBytes bytes;
  const double most = elements(nodes);
  const std::set<const Node*> own(nodes.begin(), nodes.end());
  std::set<const Value*> read;
  for (const Node* node : nodes)
    for (size_t k = 0; k < node->inputs.size(); ++k) {
      const Value* input = node->reads(k) ? node->inputs[k] : nullptr;
      const bool is_own = input && own.count(input->producer) > 0;
      if (!input || is_own || is_number(input) || !read.insert(input).second) continue;
      bytes.read +=
          std::min(most, static_cast<double>(usual_numel(input))) * size_bytes(input->dtype());
    }
  for (const Value* output : nodes.back()->outputs)
    bytes.written += static_cast<double>(ir::usual_stored(output)) * size_bytes(output->dtype());
  return bytes;
}

double FusionGroups::times_read(const std::vector<const Node*>& group, const Node* node) const {
  double times = 0;
  const auto elements = static_cast<double>(ir::usual_stored(node->outputs[0]));
  for (size_t k = 0; k < node->inputs.size(); ++k) {
    const double reads = elements * work(node).reads[k];
    std::function<void(const Value*)> follow = [&](const Value* value) {
      if (!value || !value->producer) return;
      if (is_light(value->producer)) {
        for (const Value* input : value->producer->inputs) follow(input);
      } else if (std::find(group.begin(), group.end(), value->producer) != group.end()) {
        times = std::max(times, reads / std::max(1.0, static_cast<double>(usual_numel(value))));
      }
    };
    follow(node->inputs[k]);
  }
  return times;
}

bool FusionGroups::feeds_products(const std::vector<const Node*>& group,
                                  const std::vector<const Node*>& others) const {
  const std::set<const Node*> from(group.begin(), group.end()), into(others.begin(), others.end());
  const auto is_product = [](const Node* node) { return node->op->kind == OpKind::contraction; };
  // Nodes that are made of a product's results, and those that are made of the group's alone.
  std::map<const Node*, bool> of_product, of_group;
  const auto any_input = [&](const Node* node, const auto& holds) {
    return std::ranges::any_of(node->inputs, [&](const Value* input) {
      return input && input->producer && holds(holds, input->producer);
    });
  };
  const auto is_of_product = [&](const auto& self, const Node* node) -> bool {
    if (!into.contains(node) && !is_light(node)) return false;
    const auto [entry, is_new] = of_product.emplace(node, false);
    if (is_new) entry->second = is_product(node) || any_input(node, self);
    return of_product.at(node);
  };
  const auto is_of_group = [&](const auto& self, const Node* node) -> bool {
    if (from.contains(node)) return true;
    if ((!into.contains(node) && !is_light(node)) || is_of_product(is_of_product, node))
      return false;
    const auto [entry, is_new] = of_group.emplace(node, false);
    if (is_new) entry->second = any_input(node, self);
    return of_group.at(node);
  };
  return std::ranges::any_of(
      others, [&](const Node* node) { return is_product(node) && any_input(node, is_of_group); });
}

double FusionGroups::times_made(const std::vector<const Node*>& group,
                                const std::vector<const Node*>& others) const {
  std::set<const Node*> made(group.begin(), group.end());
  const auto is_made = [&](const auto& self, const Value* value) -> bool {
    const Node* node = value ? value->producer : nullptr;
    if (!node) return false;
    if (made.contains(node)) return true;
    return is_light(node) &&
           std::ranges::any_of(node->inputs, [&](const Value* input) { return self(self, input); });
  };
  double most = 0;
  for (const Node* node : others) {  // in the graph's order
    if (node->op->kind != OpKind::pointwise ||
        std::ranges::none_of(node->inputs,
                             [&](const Value* input) { return is_made(is_made, input); }))
      continue;
    made.insert(node);
    most = std::max(most, static_cast<double>(ir::usual_stored(node->outputs[0])));
  }
  return most / elements(group);
}

void FusionGroups::collect_light(const Value* value, std::set<const Node*>& into) const {
  if (!value || !value->producer || !is_light(value->producer)) return;
  if (!into.insert(value->producer).second) return;
  for (const Value* input : value->producer->inputs) collect_light(input, into);
}

std::vector<const Node*> FusionGroups::casts_of_operands(
    const std::vector<const Node*>& nodes) const {
  std::set<const Node*> light;
  for (const Node* node : nodes)
    for (const Value* input : node->inputs) collect_light(input, light);
  std::vector<const Node*> casts;
  for (const Node* node : light)
    if (widens(*node) && feeds_products({node}, nodes)) casts.push_back(node);
  std::ranges::sort(casts, {}, [&](const Node* node) { return position_.at(node); });
  return casts;
}

double FusionGroups::store_casts(const std::vector<const Node*>& nodes) {
  const auto seconds_of = [&](const std::vector<const Node*>& group) {
    const Match& made = match(group);
    return made ? made->get()->default_seconds() : std::numeric_limits<double>::infinity();
  };
  const double together = seconds_of(nodes);
  const Match& joined = match(nodes);
  if (!joined || !(*joined)->computes_operands_once()) return together;
  const std::vector<const Node*> casts = casts_of_operands(nodes);
  if (casts.empty()) return together;
  double apart = 0;
  for (const Node* cast : casts) {
    start({});
    claim(cast, groups_.size() - 1);
    apart += seconds_of({cast});
  }
  apart += seconds_of(nodes);
  if (apart < together) return apart;
  for (size_t k = 0; k < casts.size(); ++k) unclaim_last();
  return together;
}

Region FusionGroups::region(const std::vector<const Node*>& nodes) const {
  std::set<const Node*> all(nodes.begin(), nodes.end());
  for (const Node* node : nodes)
    for (const Value* input : node->inputs) collect_light(input, all);
  Region region;
  region.nodes.assign(all.begin(), all.end());
  std::sort(region.nodes.begin(), region.nodes.end(),
            [&](const Node* a, const Node* b) { return position_.at(a) < position_.at(b); });
  std::set<const Node*> own(nodes.begin(), nodes.end());
  for (const Node* node : region.nodes) {
    for (size_t k = 0; k < node->inputs.size(); ++k) {
      const Value* input = node->reads(k) ? node->inputs[k] : nullptr;
      if (!input || is_number(input) || (input->producer && all.count(input->producer))) continue;
      if (region.slot_of_input(input) < 0) region.inputs.push_back(input);
    }
    if (!own.count(node)) continue;
    for (const Value* output : node->outputs) {
      auto uses = uses_.find(output);
      if (uses == uses_.end()) continue;
      // Light users outside compute themselves from this value, unless they stand in this region
      // alone.
      std::function<bool(const Value*)> wanted_outside = [&](const Value* value) {
        auto found = uses_.find(value);
        if (found == uses_.end()) return false;
        if (found->second.outputs > 0) return true;
        return std::any_of(
            found->second.nodes.begin(), found->second.nodes.end(), [&](const Node* user) {
              if (own.count(user)) return false;
              if (!is_light(user)) return true;
              return std::any_of(user->outputs.begin(), user->outputs.end(), wanted_outside);
            });
      };
      // A function of the host's gives all of its results.
      if (node->op->kind == OpKind::external || wanted_outside(output))
        region.outputs.push_back(output);
    }
  }
  for (const Value* value : region.inputs)
    region.layouts[value] = Layout::row_major(value->shape());
  for (const Value* value : region.outputs)
    region.layouts[value] = Layout::row_major(value->shape());
  const Node *contraction = nullptr, *other = nullptr;
  for (const Node* node : region.nodes) {
    if (node->op->kind == OpKind::contraction && !contraction) contraction = node;
    if (anchors_rows(*node) && !other) other = node;
  }
  region.anchor = contraction ? contraction : other;
  set_precision(region, precision_);
  sort_inputs(region);
  return region;
}

const Match& FusionGroups::match(const std::vector<const Node*>& nodes) const {
  std::set<const Node*> key(nodes.begin(), nodes.end());
  auto found = matches_.find(key);
  if (found == matches_.end()) found = matches_.emplace(std::move(key), find_match(nodes)).first;
  return found->second;
}

Match FusionGroups::find_match(const std::vector<const Node*>& nodes) const {
  Region whole = region(nodes);
  if (whole.outputs.empty()) return Refusal{"nothing reads its results"};
  // Nodes of one stage alone make a kernel, so that no two regions wait for each other.
  for (const Node* node : nodes)
    if (stages_.of(node) != stages_.of(nodes.front()))
      return Refusal{"a size is read back between them"};
  Match match = match_region(whole, target_);
  if (match || !whole.anchor || whole.anchor->op->kind != OpKind::contraction) return match;
  // Nobody knows how short a product of open dims is.
  if (!open_dims(whole).empty()) return match;
  const Node* contraction = whole.anchor;
  const bool is_product = nodes.size() > 1 && FusionGroups::match({contraction}) &&
                          (*FusionGroups::match({contraction}))->region().anchor == contraction;
  const auto rows = std::find_if(whole.nodes.begin(), whole.nodes.end(),
                                 [](const Node* node) { return anchors_rows(*node); });
  whole.anchor = rows == whole.nodes.end() ? nullptr : *rows;
  // Nodes that join a matrix product may not make it a serial loop.
  if (is_product && !whole.anchor) return match;
  whole.tf32 = whole.unit_sums = false;
  Match serial = match_region(whole, target_);
  if (serial) return serial;
  // The reason is that of a product, as where its dims are open.
  Refusal refusal = serial.refusal();
  refusal.reason = match.reason();
  refusal.by = match.refusal().by;
  return refusal;
}

}  // namespace tcc::sched
