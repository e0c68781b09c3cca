#include "ir/ops/_norm.h"

namespace tcc::ir::ops {
namespace {

std::vector<Type> infer_batch_norm(const InferContext& context) {
  require_float(context);
  const Type& x = *context.inputs[0];
  context.require(x.shape.size() >= 2, "x must be [N, C, ...]");
  for (size_t k = 1; k <= 4; ++k) require_shape(context, k, {x.shape[1]}, "[C]");
  return {x};
}

std::vector<Value*> compose_batch_norm(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const auto vector = [&](int k) {
    Value* value = node.inputs[static_cast<size_t>(k)];
    return value ? b.cast(value, x->dtype()) : nullptr;
  };
  // The scale of a channel is made first: with constant statistics it folds into one constant.
  Value* scale =
      b.unary("rsqrt", b.op("add", {vector(2), b.scalar(x->dtype(), node.attr<double>("eps"))}));
  if (Value* weight = vector(3)) scale = b.mul(scale, weight);
  Value* centered = b.sub(x, along_dim(b, vector(1), 1, x->rank()));
  return {b.cast(affine(b, centered, scale, vector(4), 1), node.inputs[0]->dtype())};
}

}  // namespace

OpDef make_batch_norm() {
  OpDef op;
  op.name = "batch_norm";
  op.kind = OpKind::composite;
  op.operands = {"x", "running_mean", "running_var", "weight?", "bias?"};
  op.attrs = {{"eps", AttrType::number, 1e-5}};
  op.doc =
      "(x - running_mean) / sqrt(running_var + eps) * weight + bias for each channel of x [N, C, "
      "...]; "
      "torch.nn.functional.batch_norm with training=False";
  op.infer = infer_batch_norm;
  op.compose = compose_batch_norm;
  const Type c3{DType::f32, {3}}, c8{DType::f16, {8}};
  op.samples = {
      {{{DType::f32, {2, 3, 5, 7}}, c3, c3, c3, c3}, {}, 0.5, 2},
      {{{DType::f32, {5, 3}}, c3, c3}, {{"eps", 1e-3}}, 0.5, 2},
      {{{DType::f32, {1, 3, 33}}, c3, c3, c3}, {}, 0.5, 2},
      {{{DType::f16, {2, 8, 4, 4}}, c8, c8, c8, c8}, {}, 0.5, 2},
  };
  return op;
}

}  // namespace tcc::ir::ops
