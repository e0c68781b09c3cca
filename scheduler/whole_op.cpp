#include "scheduler/whole_op.h"

#include <algorithm>
#include <optional>

#include "ir/sizes.h"
#include "scheduler/fusion_groups.h"
#include "scheduler/template.h"

namespace tcc::sched {
namespace {

bool has_fixed_shape(const ir::Value* value) {
  return std::ranges::all_of(value->shape(), [](const SymInt& dim) { return dim.is_const(); });
}

}  // namespace

Match match_whole_op(const ir::Node& node, const Target& target, const RegionPrecision& precision) {
  if (node.op->kind != ir::OpKind::composite) return Refusal{"it is not a composite op", true};
  const Refusal open{"its sizes come at run time", true};
  Region region;
  region.nodes = {&node};
  set_precision(region, precision);
  const auto add = [&](std::vector<const ir::Value*>& values, const ir::Value* value) {
    values.push_back(value);
    region.layouts[value] = Layout::row_major(value->shape());
  };
  for (const ir::Value* input : node.inputs) {
    if (!input) continue;
    if (!has_fixed_shape(input)) return open;
    if (!is_number(input) && region.slot_of_input(input) < 0) add(region.inputs, input);
  }
  for (const ir::Value* output : node.outputs) {
    if (!has_fixed_shape(output)) return open;
    add(region.outputs, output);
  }
  return match_region(region, target);
}

std::vector<RefusedOp> refused_whole_ops(const ir::Graph& graph, const Target& target,
                                         const RegionPrecision& precision) {
  std::vector<RefusedOp> refused;
  std::optional<FusionGroups> groups;  // made at the first need
  for (const auto& node : graph.nodes()) {
    if (node->op->kind != ir::OpKind::composite) continue;
    if (!groups) groups.emplace(graph, target, precision);
    if (const Match& match = groups->match({node.get()}); !match)
      refused.push_back({node.get(), match.reason()});
  }
  return refused;
}

}  // namespace tcc::sched
