#include "ir/ops/_norm.h"

namespace tcc::ir::ops {

OpDef make_mse_loss() {
  OpDef op;
  op.name = "mse_loss";
  op.kind = OpKind::composite;
  op.operands = {"x", "target"};
  op.attrs = {loss_reduction_attr()};
  op.doc =
      "Squared differences of x and target, their mean by default; torch.nn.functional.mse_loss";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context, 0);
    require_float(context, 1);
    const Type& x = *context.inputs[0];
    const Type& target = *context.inputs[1];
    return {loss_type(context, promote(x.dtype, target.dtype),
                      context.broadcast(x.shape, target.shape))};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    const DType dtype = node.outputs[0]->dtype();
    const auto operand = [&](size_t k) { return b.cast(node.inputs[k], compute_dtype(dtype)); };
    Value* difference = b.op("sub", {operand(0), operand(1)});
    Value* loss = b.mul(difference, difference);
    return {b.cast(reduce_loss(b, loss, node.attr<std::string>("reduction")), dtype)};
  };
  op.samples = {
      {{{DType::f32, {5, 7}}, {DType::f32, {5, 7}}}},
      {{{DType::f32, {3, 4}}, {DType::f32, {4}}}, {{"reduction", "none"}}},
      {{{DType::f32, {33}}, {DType::f32, {33}}}, {{"reduction", "sum"}}},
      {{{DType::f16, {6, 64}}, {DType::f16, {6, 64}}}},
  };
  return op;
}

}  // namespace tcc::ir::ops
