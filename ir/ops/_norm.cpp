#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"

#include <algorithm>

#include "ir/ops/_attributes.h"
#include "support/error.h"

namespace tcc::ir::ops {

Moments moments(Builder& b, Value* x, const std::vector<int64_t>& dims) {
  Value* mean = b.reduce("mean", x, dims, true);
  Value* centered = b.sub(x, mean);
  return {centered, b.reduce("mean", b.mul(centered, centered), dims, true), mean};
}

Value* scale_to_unit_variance(Builder& b, Value* x, Value* variance, double eps) {
  return b.mul(x, b.unary("rsqrt", b.add(variance, b.scalar(variance->dtype(), eps))));
}

Value* affine(Builder& b, Value* x, Value* weight, Value* bias, int channel_dim) {
  const auto operand = [&](Value* value) {
    value = b.cast(value, x->dtype());
    return channel_dim < 0 ? value : along_dim(b, value, channel_dim, x->rank());
  };
  if (weight) x = b.mul(x, operand(weight));
  if (bias) x = b.add(x, operand(bias));
  return x;
}

Value* along_dim(Builder& b, Value* vector, int dim, int rank) {
  if (dim == rank - 1) return vector;
  Shape shape(static_cast<size_t>(rank - dim), SymInt(1));
  shape[0] = vector->shape()[0];
  return b.reshape(vector, shape);
}

std::vector<int64_t> dims_from(int first, int rank) {
  std::vector<int64_t> dims;
  for (int d = first; d < rank; ++d) dims.push_back(d);
  return dims;
}

int softmax_dim(const Node& node) {
  return dim_attr(node, "dim", std::max(1, node.inputs[0]->rank()));
}

ShiftedExp shifted_exp(Builder& b, Value* x, int64_t dim) {
  Value* shifted = b.sub(x, b.reduce("amax", x, {dim}, true));
  Value* exp = b.unary("exp", shifted);
  return {shifted, exp, b.reduce("sum", exp, {dim}, true)};
}

AttrDef loss_reduction_attr() {
  return {"reduction", AttrType::text, std::string("mean"), {"none", "mean", "sum"}};
}

Type loss_type(const InferContext& context, DType dtype, const Shape& shape) {
  return {dtype, context.node.attr<std::string>("reduction") == "none" ? shape : Shape{}};
}

Value* reduce_loss(Builder& b, Value* loss, std::string_view reduction) {
  return reduction == "none" ? loss : b.reduce(reduction, loss, {});
}

OpDef difference_loss(std::string name, std::string doc,
                      std::function<Value*(Builder&, Value* difference)> loss_of) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::composite;
  op.operands = {"x", "target"};
  op.attrs = {loss_reduction_attr()};
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context, 0);
    require_float(context, 1);
    const Type& x = *context.inputs[0];
    const Type& target = *context.inputs[1];
    return {loss_type(context, promote(x.dtype, target.dtype),
                      context.broadcast(x.shape, target.shape))};
  };
  op.compose = [loss_of = std::move(loss_of)](Builder& b, const Node& node) -> std::vector<Value*> {
    const DType dtype = node.outputs[0]->dtype();
    const auto operand = [&](size_t k) { return b.cast(node.inputs[k], compute_dtype(dtype)); };
    Value* difference = b.op("sub", {operand(0), operand(1)});
    Value* loss = loss_of(b, difference);
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

OpDef softmax_op(std::string name, std::string doc,
                 std::function<Value*(Builder&, const ShiftedExp&)> finish) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, std::nullopt}};
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context);
    const Type& x = *context.inputs[0];
    dim_attr(context, "dim", std::max<int>(1, x.shape.size()));
    return {x};
  };
  op.compose = [finish = std::move(finish)](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const int dim = softmax_dim(node);
    if (x->rank() > 0 && x->shape()[static_cast<size_t>(dim)].is(0)) return {x};
    return {b.cast(finish(b, shifted_exp(b, b.compute(x), dim)), x->dtype())};
  };
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", 1}}},
      {{{DType::f32, {3, 1000}}}, {{"dim", -1}}, -30, 30},
      {{{DType::f32, {4, 9, 5}}}, {{"dim", 1}}},
      {{{DType::f32, {17, 1}}}, {{"dim", 1}}},
      {{{DType::f32, {3, 0}}}, {{"dim", 1}}},
      {{{DType::f32, {0, 3}}}, {{"dim", 1}}},
      {{{DType::f16, {6, 130}}}, {{"dim", 1}}},
      {{{DType::bf16, {2, 3, 33}}}, {{"dim", 2}}},
      {{{DType::f64, {6, 31}}}, {{"dim", 0}}},
  };
  return op;
}

}  // namespace tcc::ir::ops
