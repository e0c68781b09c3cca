#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_group_norm {
namespace {

std::vector<Type> infer_group_norm(const InferContext& context) {
  require_float(context);
  const Type& x = *context.inputs[0];
  context.require(x.shape.size() >= 2, "x must be [N, C, ...]");
  const int64_t groups = context.node.attr<int64_t>("num_groups");
  context.require(groups >= 1 && may_be_divided(x.shape[1], groups),
                  str("num_groups ", groups, " does not divide the ", x.shape[1], " channels"));
  require_shape(context, 1, {x.shape[1]}, "[C]");
  require_shape(context, 2, {x.shape[1]}, "[C]");
  return {x};
}

std::vector<Value*> compose_group_norm(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const Shape& shape = x->shape();
  const SymInt groups = node.attr<int64_t>("num_groups");
  const SymInt size = product(std::span<const SymInt>(shape).subspan(1));
  const Moments m = moments(b, b.reshape(x, {shape[0], groups, floordiv(size, groups)}), {2});
  Value* y =
      b.reshape(scale_to_unit_variance(b, m.centered, m.variance, number_attr(node, "eps")), shape);
  return {b.cast(affine(b, y, node.inputs[1], node.inputs[2], 1), node.inputs[0]->dtype())};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "group_norm";
  op.kind = OpKind::composite;
  op.operands = {"x", "weight?", "bias?"};
  op.attrs = {{"num_groups", AttrType::integer, std::nullopt}, {"eps", AttrType::number, 1e-5}};
  op.doc =
      "x [N, C, ...] to mean 0 and variance 1 over each of num_groups groups of channels, then an "
      "affine map per "
      "channel; torch.nn.functional.group_norm";
  op.infer = infer_group_norm;
  op.compose = compose_group_norm;
  op.samples = {
      {{{DType::f32, {2, 6, 5, 7}}, {DType::f32, {6}}, {DType::f32, {6}}}, {{"num_groups", 3}}},
      {{{DType::f32, {3, 4}}}, {{"num_groups", 2}}},
      {{{DType::f32, {1, 8, 33}}, {DType::f32, {8}}}, {{"num_groups", 1}, {"eps", 1e-3}}},
      {{{DType::f16, {2, 8, 9}}, {DType::f16, {8}}, {DType::f16, {8}}}, {{"num_groups", 8}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_group_norm
