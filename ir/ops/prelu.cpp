#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_samples.h"
#include "support/error.h"

namespace tcc::ir::ops::op_prelu {
namespace {

// The channel of element `index`, for a weight of one dim or none: dim 1 of two dims or more, 0 for
// a weight of one element.
template <class Index>
Index channel(std::span<const Index> index, bool shared) {
  return shared || index.size() < 2 ? Index(0) : index[1];
}

std::vector<Type> infer(const InferContext& context) {
  const Type &x = *context.inputs[0], &weight = *context.inputs[1];
  context.require(is_float(x.dtype) && x.dtype == weight.dtype,
                  str("x and weight must have one float dtype, not ", name(x.dtype), " and ",
                      name(weight.dtype)));
  const SymInt count = product(weight.shape), channels = x.shape.size() < 2 ? 1 : x.shape[1];
  const bool broadcasts = weight.shape.size() > 1 && weight.shape.size() <= x.shape.size() &&
                          context.broadcast(x.shape, weight.shape) == x.shape;
  context.require(broadcasts || (weight.shape.size() <= 1 && (count.is(1) || count == channels)),
                  str("weight must have 1 element or one per channel, ", channels,
                      ", or broadcast to x with two dims or more; it has the shape ",
                      shape_text(weight.shape)));
  return {x};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Shape& shape = context.operand_type(1).shape;
  const bool shared = shape.empty() || shape[0].is(1);
  std::vector<SymInt> weight_index;
  if (shape.size() == 1) weight_index.push_back(channel(index, shared));
  if (shape.size() > 1) weight_index = broadcast_index(index, shape);
  const Expr x = context.operand(0, index), weight = context.operand(1, weight_index);
  return select(greater(x, literal(x, 0)), x, mul(weight, x));
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[0], &weight = *context.inputs[1];
  const bool shared = weight.numel() == 1;
  for_each_index(x.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const double value = x.f[static_cast<size_t>(offset)];
    const int64_t at =
        weight.shape.size() > 1 ? broadcast_offset(index, weight.shape) : channel(index, shared);
    const double slope = weight.f[static_cast<size_t>(at)];
    context.outputs[0].f[static_cast<size_t>(offset)] = value > 0 ? value : slope * value;
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "prelu";
  op.operands = {"x", "weight"};
  op.doc =
      "x above 0, weight * x below; weight is shared, or one per index of dim 1, or, with two dims "
      "or more, broadcast to x; torch.nn.functional.prelu";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  op.samples = {{.inputs = {{f32, {2, 3, 4, 5}}, {f32, {3}}}},
                {.inputs = {{f32, {7}}, {f32, {1}}}},
                {.inputs = {{f32, {4, 9}}, {f32, {9}}}},
                {.inputs = {{f32, {2, 3, 5}}, {f32, {3, 1}}}},
                {.inputs = {{f32, {2, 3, 5}}, {f32, {1, 1, 5}}}},
                {.inputs = {{f16, {0, 3}}, {f16, {3}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_prelu
