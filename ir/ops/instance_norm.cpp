#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"

namespace tcc::ir::ops::op_instance_norm {

OpDef make() {
  OpDef op;
  op.name = "instance_norm";
  op.kind = OpKind::composite;
  op.operands = {"x", "weight?", "bias?"};
  op.attrs = {{"eps", AttrType::number, 1e-5}};
  op.doc =
      "x [N, C, ...] to mean 0 and variance 1 over the spatial dims of each channel, then an "
      "affine map per channel; "
      "torch.nn.functional.instance_norm without running statistics";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context);
    const Type& x = *context.inputs[0];
    context.require(x.shape.size() >= 3, "x must be [N, C, ...] with a spatial dim");
    require_shape(context, 1, {x.shape[1]}, "[C]");
    require_shape(context, 2, {x.shape[1]}, "[C]");
    return {x};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = b.compute(node.inputs[0]);
    const Moments m = moments(b, x, dims_from(2, x->rank()));
    Value* y = scale_to_unit_variance(b, m.centered, m.variance, number_attr(node, "eps"));
    return {b.cast(affine(b, y, node.inputs[1], node.inputs[2], 1), node.inputs[0]->dtype())};
  };
  op.samples = {
      {{{DType::f32, {2, 3, 5, 7}}, {DType::f32, {3}}, {DType::f32, {3}}}},
      {{{DType::f32, {2, 3, 33}}}},
      {{{DType::f16, {1, 4, 6, 6}}, {DType::f16, {4}}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_instance_norm
