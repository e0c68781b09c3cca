#include "scheduler/whole_op.h"

#include <optional>

#include "ir/sizes.h"
#include "scheduler/fusion_groups.h"
#include "scheduler/passed_templates.h"
#include "scheduler/template.h"

namespace tcc::sched {

Match match_whole_op(const ir::Node& node, const Target& target, const RegionPrecision& precision) {
  if (node.op->kind != ir::OpKind::composite) return Refusal{"it is not a composite op", true};
  Region region;
  region.nodes = {&node};
  set_precision(region, precision);
  const auto add = [&](std::vector<const ir::Value*>& values, const ir::Value* value) {
    values.push_back(value);
    region.layouts[value] = Layout::row_major(value->shape());
  };
  for (const ir::Value* input : node.inputs) {
    if (!input) continue;
    if (!is_number(input) && region.slot_of_input(input) < 0) add(region.inputs, input);
  }
  for (const ir::Value* output : node.outputs) add(region.outputs, output);
  Match match = match_region(region, target);
  if (match || match.refusal().other_kind) return match;
  Refusal refusal = match.refusal();
  refusal.reason = refusals_of(region, target);
  return refusal;
}

std::vector<RefusedOp> refused_whole_ops(const ir::Graph& graph, const Target& target,
                                         const RegionPrecision& precision) {
  std::vector<RefusedOp> refused;
  std::optional<FusionGroups> groups;  // made at the first need
  for (const auto& node : graph.nodes()) {
    if (node->op->kind != ir::OpKind::composite) continue;
    if (!groups) groups.emplace(graph, target, precision);
    const Match& match = groups->match({node.get()});
    if (match) continue;
    const std::string reasons = refusals_of(groups->region({node.get()}), target);
    refused.push_back({node.get(), reasons.empty() ? match.reason() : reasons});
  }
  return refused;
}

}  // namespace tcc::sched
