#include "scheduler/pad_inputs.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/passes/graph_rewrite.h"
#include "scheduler/fusion_groups.h"
#include "scheduler/layout.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Node;
using ir::Value;

// Copies are made without a measurement if they gain a tenth, and more than launches vary.
constexpr double kClearGain = 0.9, kLeastGain = 2e-6;

double bytes_of(const Region& region, const Value* value) {
  return static_cast<double>(region.layout(value).elements.usual()) * size_bytes(value->dtype());
}

// Predicts the time of a region with the layouts that it has.
double product_seconds(const Region& region, const Target& target) {
  const Match match = match_region(region, target);
  TCC_CHECK(match, region.name(), ": ", match.reason());
  return (*match)->estimate((*match)->default_config());
}

double copy_seconds(double bytes, const Target& target) {
  constexpr double kLaunch = 2.5e-6;
  return kLaunch + 2 * bytes / target.bandwidth;
}

class Padding {
 public:
  Padding(const ir::Graph& graph, const Target& target, const Plan& plan,
          const RegionPrecision& precision)
      : graph_(graph),
        groups_(graph, target, precision),
        subgraph_(graph),
        target_(target),
        plan_(plan) {}

  // The buffers that the product reads copies of.
  std::set<const Value*> choose(const Node* node) const {
    // Convolutions' inputs have layouts of their own.
    if (node->op_name() != "matmul") return {};
    const Match& product = groups_.match({node});
    if (!product) return {};
    Region region = (*product)->region();
    std::vector<LayoutWish> inputs;
    for (const LayoutWish& buffer : (*product)->row_wishes())
      if (has_free_layout(graph_, buffer.value))
        region.layouts[buffer.value] = buffer.layout;  // it will have it in any case
      else if (!buffer.value->producer)
        inputs.push_back(buffer);
    if (inputs.empty()) return {};
    const int64_t mask = plan_.choose(site_of(node, region, inputs));
    std::set<const Value*> copied;
    for (const LayoutWish& input : inputs)
      if (mask & bit_of(node, input)) copied.insert(input.value);
    return copied;
  }

  bool is_light(const Node* node) const { return groups_.is_light(node); }

 private:
  // 1 for what the first operand is made of, 2 for the second, 3 for both.
  int64_t bit_of(const Node* node, const LayoutWish& input) const {
    return (is_made_of(node->inputs[0], input.value) ? 1 : 0) |
           (is_made_of(node->inputs[1], input.value) ? 2 : 0);
  }

  bool is_made_of(const Value* value, const Value* input) const {
    if (value == input) return true;
    if (!value || !value->producer || !is_light(value->producer)) return false;
    const auto& operands = value->producer->inputs;
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Value* operand) { return is_made_of(operand, input); });
  }

  PlanSite site_of(const Node* node, const Region& region,
                   const std::vector<LayoutWish>& inputs) const {
    PlanSite site;
    site.kind = "pad_inputs";
    site.key = subgraph_.key({&node, 1});
    site.description = str(region.name(), " of ", ir::to_string(node->inputs[0]->type), " and ",
                           ir::to_string(node->inputs[1]->type), ": operands that are copied");
    std::set<int64_t> masks = {0};
    for (const LayoutWish& input : inputs)
      for (const int64_t mask : std::set<int64_t>(masks)) masks.insert(mask | bit_of(node, input));
    site.alternatives.assign(masks.begin(), masks.end());
    const double unpadded = product_seconds(region, target_);
    double best = std::min(kClearGain * unpadded, unpadded - kLeastGain);
    for (const int64_t mask : site.alternatives) {
      if (mask == 0) continue;
      Region padded = region;
      double seconds = 0;
      for (const LayoutWish& input : inputs) {
        if (!(mask & bit_of(node, input))) continue;
        padded.layouts[input.value] = input.layout;
        seconds += copy_seconds(bytes_of(region, input.value), target_);
      }
      seconds += product_seconds(padded, target_);
      if (seconds >= best) continue;
      best = seconds;
      site.default_choice = mask;
    }
    return site;
  }

  const ir::Graph& graph_;
  FusionGroups groups_;
  Subgraph subgraph_;
  const Target& target_;
  const Plan& plan_;
};

// Makes operands again on copies of what they read, each copied once.
class Copies {
 public:
  explicit Copies(const Padding& padding) : padding_(padding) {}

  // `value` on copies of `copied`: the views and casts in between are made again.
  Value* rebuilt(ir::Builder& builder, Value* value, const std::set<const Value*>& copied) {
    if (copied.count(value)) {
      Value*& copy = copies_[value];
      if (!copy) copy = builder.op("identity", {value});
      return copy;
    }
    if (!value || !value->producer || !padding_.is_light(value->producer)) return value;
    const Node& node = *value->producer;
    std::vector<Value*> inputs;
    for (Value* input : node.inputs) inputs.push_back(rebuilt(builder, input, copied));
    if (inputs == node.inputs) return value;
    const std::vector<Value*> results = builder.ops(node.op_name(), inputs, node.attrs);
    const auto number = std::find(node.outputs.begin(), node.outputs.end(), value);
    return results[static_cast<size_t>(number - node.outputs.begin())];
  }

 private:
  const Padding& padding_;
  std::map<const Value*, Value*> copies_;
};

}  // namespace

void pad_inputs(ir::Graph& graph, const Target& target, const Plan& plan,
                const RegionPrecision& precision, const std::set<const Node*>& kept) {
  if (target.matrix_row_bytes == 0 || target.matrix_units.empty()) return;
  const Padding padding(graph, target, plan, precision);
  std::map<const Node*, std::set<const Value*>> copied;
  for (const auto& node : graph.nodes())
    if (!kept.contains(node.get())) copied[node.get()] = padding.choose(node.get());
  Copies copies(padding);
  ir::rewrite_nodes(graph, [&](ir::Builder& builder, const Node& node) -> ir::Replacement {
    const auto found = copied.find(&node);
    if (found == copied.end() || found->second.empty()) return {};
    const std::set<const Value*>& buffers = found->second;
    std::vector<Value*> inputs;
    for (Value* input : node.inputs) inputs.push_back(copies.rebuilt(builder, input, buffers));
    return builder.ops(node.op_name(), inputs, node.attrs);
  });
}

}  // namespace tcc::sched
