#include "ir/ops/_norm.h"

#include <algorithm>

#include "ir/ops/_attributes.h"
#include "support/error.h"

namespace tcc::ir::ops {

void require_float(const InferContext& context, size_t k) {
  const Type* type = context.inputs[k];
  if (!type || is_float(type->dtype)) return;
  context.fail(str("operand ", k, " must be a float tensor, not ", to_string(*type)));
}

void require_shape(const InferContext& context, size_t k, const Shape& shape,
                   std::string_view what) {
  const Type* type = k < context.inputs.size() ? context.inputs[k] : nullptr;
  if (!type || type->shape == shape) return;
  context.fail(str("operand ", k, " has the shape ", shape_text(type->shape), "; ", what, " is ",
                   shape_text(shape)));
}

Moments moments(Builder& b, Value* x, const std::vector<int64_t>& dims) {
  Value* centered = b.sub(x, b.reduce("mean", x, dims, true));
  return {centered, b.reduce("mean", b.mul(centered, centered), dims, true)};
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

}  // namespace tcc::ir::ops
