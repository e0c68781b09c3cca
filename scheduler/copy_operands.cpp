#include "scheduler/copy_operands.h"

#include <algorithm>
#include <map>

namespace tcc::sched {
namespace {

using ir::Node;
using ir::Value;

// Whether the node passes its first operand on, as index map or in another type.
bool passes_on(const Node& node) {
  return node.op->kind == ir::OpKind::view || node.op_name() == "cast";
}

bool is_made_of(const Value* value, const Value* given) {
  while (value != given && value && value->producer && passes_on(*value->producer))
    value = value->producer->inputs[0];
  return value == given;
}

Value* copied(ir::Builder& builder, Value* value) {
  if (!value->producer || !passes_on(*value->producer)) return builder.op("identity", {value});
  const Node& node = *value->producer;
  std::vector<Value*> inputs = node.inputs;
  inputs[0] = copied(builder, inputs[0]);
  return builder.op(node.op_name(), inputs, node.attrs);
}

}  // namespace

int64_t operands_made_of(const Node& product, const Value* value) {
  return (is_made_of(product.inputs[0], value) ? 1 : 0) |
         (is_made_of(product.inputs[1], value) ? 2 : 0);
}

ir::Replacement copy_operands(ir::Builder& builder, const Node& product, int64_t operands) {
  std::vector<Value*> inputs = product.inputs;
  for (const size_t k : {size_t{0}, size_t{1}})
    if (operands & (int64_t{1} << k)) inputs[k] = copied(builder, inputs[k]);
  return builder.ops(product.op_name(), inputs, product.attrs);
}

void merge_copies(ir::Graph& graph) {
  std::map<const Value*, Value*> copies;
  const std::vector<Value*> outputs = graph.outputs;
  ir::rewrite_nodes(graph, [&](ir::Builder&, const Node& node) -> ir::Replacement {
    Value* result = node.outputs[0];
    if (node.op_name() != "identity" || node.inputs[0]->producer ||
        std::ranges::find(outputs, result) != outputs.end())
      return {};
    Value*& copy = copies[node.inputs[0]];
    if (copy) return {copy};
    copy = result;
    return {};
  });
}

}  // namespace tcc::sched
