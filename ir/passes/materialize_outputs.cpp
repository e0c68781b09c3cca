#include "ir/passes/materialize_outputs.h"

#include <algorithm>
#include <set>

#include "ir/append.h"
#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir {

namespace {

// Kernels that read the value may compute it where they read it: it is nowhere in memory.
bool is_computed_where_read(const Value& value) {
  if (value.is_constant()) return true;
  if (!value.producer || value.producer->op_name() == "identity") return false;
  const Node& node = *value.producer;
  return node.op->kind == OpKind::view || node.op_name() == "cast" ||
         (node.op->kind == OpKind::pointwise &&
          std::ranges::all_of(node.inputs, [](const Value* v) { return !v || v->is_constant(); }));
}

// Operands of calls of the host get a node each that stores them.
void materialize_operands(Graph& graph) {
  std::vector<std::unique_ptr<Node>> nodes = std::move(graph.nodes());
  graph.nodes().clear();
  Builder builder(graph);
  for (auto& node : nodes) {
    if (node->op->kind == OpKind::external)
      for (Value*& input : node->inputs) {
        if (!is_computed_where_read(*input)) continue;
        builder.set_location(node->location);
        input = builder.op("identity", {input});
      }
    graph.nodes().push_back(std::move(node));
  }
}

}  // namespace

void materialize_outputs(Graph& graph) {
  materialize_operands(graph);
  Builder builder(graph);
  std::set<const Value*> seen;
  for (Value*& output : graph.outputs) {
    bool repeated = !seen.insert(output).second;
    // A state's memory is no output's.
    const bool is_state = output->producer && appends(*output->producer);
    if (output->kind == Value::Kind::result && !repeated && !is_state) continue;
    builder.set_location(output->producer ? output->producer->location : output->location);
    output = builder.op("identity", {output});
  }
}

}  // namespace tcc::ir
