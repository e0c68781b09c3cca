#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "support/error.h"

namespace tcc::ir::ops::op_addmm {
namespace {

std::vector<Type> infer_addmm(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const Type& a = *context.inputs[1];
  const Type& b = *context.inputs[2];
  context.require(a.shape.size() == 2 && b.shape.size() == 2 && a.shape[1] == b.shape[0],
                  str("the factors must be [M, K] and [K, N], not ", shape_text(a.shape), " and ",
                      shape_text(b.shape)));
  context.require(a.dtype == b.dtype && x.dtype == a.dtype, "the operands differ in dtype");
  const Shape out = checked_shape(context, {a.shape[0], b.shape[1]});
  context.require(
      context.broadcast(x.shape, out) == out,
      str("x ", shape_text(x.shape), " does not broadcast to the product's ", shape_text(out)));
  return {{a.dtype, out}};
}

std::vector<Value*> compose_addmm(Builder& b, const Node& node) {
  const DType dtype = node.inputs[0]->dtype();
  const double alpha = number_attr(node, "alpha"), beta = number_attr(node, "beta");
  const auto scaled = [&](Value* value, double factor) {
    value = b.compute(value);
    return factor == 1 ? value : b.mul(value, b.scalar(value->dtype(), factor));
  };
  Value* product = scaled(b.matmul(node.inputs[1], node.inputs[2]), alpha);
  // With beta = 0 x is not read: its NaN would stay.
  return {b.cast(beta == 0 ? product : b.add(scaled(node.inputs[0], beta), product), dtype)};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "addmm";
  op.kind = OpKind::composite;
  op.operands = {"x", "a", "b"};
  op.attrs = {{"beta", AttrType::number, 1.0}, {"alpha", AttrType::number, 1.0}};
  op.doc =
      "beta * x + alpha * (a b) for matrices a and b, x broadcast to their product; torch.addmm";
  op.infer = infer_addmm;
  op.compose = compose_addmm;
  op.samples = {
      {{{DType::f32, {3}}, {DType::f32, {5, 7}}, {DType::f32, {7, 3}}}},
      {{{DType::f32, {5, 1}}, {DType::f32, {5, 7}}, {DType::f32, {7, 3}}},
       {{"alpha", 0.5}, {"beta", 2.0}}},
      {{{DType::f32, {}}, {DType::f32, {4, 33}}, {DType::f32, {33, 6}}}, {{"beta", 0.0}}},
      {{{DType::f16, {16, 8}}, {DType::f16, {16, 24}}, {DType::f16, {24, 8}}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_addmm
