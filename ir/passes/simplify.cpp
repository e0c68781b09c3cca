#include "ir/passes/simplify.h"

#include "ir/op.h"
#include "ir/passes/graph_rewrite.h"
#include "ir/passes/simplify_rules.h"

namespace tcc::ir {
namespace {

// Every rule removes work, so a fixed point is reached long before; what is left then is still
// right.
constexpr int kMaxRounds = 100;

Replacement apply_rules(Builder& b, const Node& node) {
  if (node.outputs.size() != 1 || !node.subgraphs.empty()) return {};
  for (const auto rules : {movement_rules(), arithmetic_rules()})
    for (const SimplifyRule rule : rules)
      if (Value* value = rule(b, node)) return {value};
  return {};
}

}  // namespace

std::optional<double> known_splat(const Value* value) {
  return value && is_fixed(value) ? value->data->splat() : std::nullopt;
}

const Node* producer_of(const Value* value, std::string_view name) {
  return value && value->producer && value->producer->op_name() == name ? value->producer : nullptr;
}

void simplify(Graph& graph) {
  for (int round = 0; round < kMaxRounds; ++round)
    if (!rewrite_nodes(graph, apply_rules)) return;
}

}  // namespace tcc::ir
