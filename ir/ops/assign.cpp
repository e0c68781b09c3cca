#include "ir/ops/_movement.h"

namespace tcc::ir::ops::op_assign {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Value& state = *context.node.inputs[0];
  const Type& value = *context.inputs[1];
  context.require(state.kind == Value::Kind::state, "'" + state.name + "' is no state");
  context.require(value == state.type, "state '" + state.name + "' is " + to_string(state.type) +
                                           ", the value is " + to_string(value));
  return {value};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  return context.operand(1, index);
}

void reference(EvalContext& context) { context.outputs[0] = *context.inputs[1]; }

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "assign";
  op.operands = {"state", "value"};
  op.doc = "value, which is the state's from the next run on; torch.Tensor.copy_";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.stores = true;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{f32, {3, 33}}, {f32, {3, 33}}}},
                {.inputs = {{i64, {65}}, {i64, {65}}}},
                {.inputs = {{boolean, {5}}, {boolean, {5}}}},
                {.inputs = {{bf16, {2, 1, 40}}, {bf16, {2, 1, 40}}}},
                {.inputs = {{f32, Shape{}}, {f32, Shape{}}}},
                {.inputs = {{f32, {0, 3}}, {f32, {0, 3}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_assign
