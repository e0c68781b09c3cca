#include "ir/ops/_quantization.h"

#include <algorithm>

#include "ir/ops/_index_loop.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

// One element, of any rank up to one.
bool is_single(const Shape& shape) {
  return shape.empty() || (shape.size() == 1 && shape[0].is(1));
}

void check_parameter(const InferContext& context, size_t k, std::string_view operand) {
  const Shape &x = context.inputs[0]->shape, &shape = context.inputs[k]->shape;
  if (is_single(shape)) return;
  const auto block = context.node.attr<int64_t>("block_size");
  const auto dim = static_cast<size_t>(dim_attr(context, "dim", static_cast<int>(x.size())));
  Shape expected = {x[dim]};
  if (block > 0) {
    expected = x;
    expected[dim] = floordiv(x[dim] + (block - 1), block);
  }
  context.require(shape == expected, str(operand, " has the shape ", shape_text(shape),
                                         "; one element or ", shape_text(expected), " fit x"));
}

}  // namespace

std::vector<AttrDef> quantization_attrs() {
  return {{"dim", AttrType::integer, int64_t{1}}, {"block_size", AttrType::integer, int64_t{0}}};
}

void check_quantization(const InferContext& context, DType dtype) {
  context.require(context.node.attr<int64_t>("block_size") >= 0, "block_size must not be negative");
  context.require(is_quantized(dtype),
                  str("integers of up to 32 bits are quantized, not ", name(dtype)));
  context.require(is_float(context.inputs[1]->dtype), "scale must be a float tensor");
  check_parameter(context, 1, "scale");
  const Type* zero_point = context.inputs[2];
  if (!zero_point) return;
  context.require(zero_point->dtype == dtype,
                  str("zero_point is ", name(zero_point->dtype), ", not ", name(dtype)));
  check_parameter(context, 2, "zero_point");
}

Expr parameter(ElementContext& context, int k, std::span<const SymInt> index) {
  const Shape& shape = context.operand_type(k).shape;
  return context.operand(k, parameter_index(context.node(), shape.size(), is_single(shape), index));
}

int64_t parameter_offset(const EvalContext& context, size_t k, std::span<const int64_t> index) {
  const auto& shape = context.inputs[k]->shape;
  const bool single = shape.empty() || (shape.size() == 1 && shape[0] == 1);
  return offset_of(parameter_index(context.node, shape.size(), single, index), shape);
}

}  // namespace tcc::ir::ops
