#include <optional>

#include "ir/builder.h"
#include "ir/ops/_movement.h"

namespace tcc::ir::ops::op_unflatten {
namespace {

Shape unflattened(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  const auto dim = dim_attr(context, "dim", static_cast<int>(x.size()));
  const Shape sizes =
      resolved_reshape(context, {x[static_cast<size_t>(dim)]}, symint_list(context.node, "sizes"));
  Shape result(x.begin(), x.begin() + dim);
  result.insert(result.end(), sizes.begin(), sizes.end());
  result.insert(result.end(), x.begin() + dim + 1, x.end());
  return result;
}

}  // namespace

OpDef make() {
  OpDef op = regrouping(
      "unflatten",
      "Dim `dim` as several of the given sizes, one of which may be -1; torch.unflatten",
      {{"dim", AttrType::integer, std::nullopt}, {"sizes", AttrType::ints, std::nullopt, {}, true}},
      unflattened);
  op.samples = {
      {.inputs = {{DType::f32, {3, 12, 5}}}, .attrs = {{"dim", 1}, {"sizes", ints({2, -1})}}},
      {.inputs = {{DType::f32, {6}}}, .attrs = {{"dim", -1}, {"sizes", ints({3, 1, 2})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_unflatten
