#include <optional>

#include "ir/builder.h"
#include "ir/ops/_elementwise.h"
#include "ir/ops/_movement.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_expand {
namespace {

Shape expanded(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  Shape shape = symint_list(context.node, "size");
  const auto fail = [&](const std::string& reason) {
    context.fail(str(shape_text(x), " does not expand to ", shape_text(shape), ": ", reason));
  };
  if (shape.size() < x.size()) fail("it has too few dims");
  const size_t added = shape.size() - x.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(-1) && d < added) fail("a new dim cannot be -1");
    if (d < added) continue;
    const SymInt& extent = x[d - added];
    if (shape[d].is(-1)) shape[d] = extent;
    if (!extent.is(1) && !may_be_equal(extent, shape[d])) fail(str("dim ", d, " is not 1"));
  }
  return checked_shape(context, shape);
}

void reference(EvalContext& context) {
  const auto& x = context.inputs[0]->shape;
  const auto x_strides = strides_of(x);
  std::vector<int64_t> strides(context.outputs[0].shape.size());
  const size_t added = strides.size() - x.size();
  for (size_t d = 0; d < x.size(); ++d) strides[added + d] = x[d] == 1 ? 0 : x_strides[d];
  copy_strided(context, 0, strides);
}

}  // namespace

OpDef make() {
  OpDef op =
      view({.name = "expand",
            .doc = "x with its dims of extent 1 repeated to fill `size`, new dims in front; -1 "
                   "keeps a dim; torch.Tensor.expand",
            .attrs = {size_attr({"size", AttrType::ints, std::nullopt, {}, true})},
            .shape = expanded,
            .source =
                [](const Node& node, std::span<const SymInt> index) {
                  return broadcast_index(index, node.inputs[0]->shape());
                },
            .reference = reference});
  using enum DType;
  op.samples = {{.inputs = {{f32, {3, 1}}}, .attrs = {{"size", ints({3, 4})}}},
                {.inputs = {{f32, {3, 1}}}, .attrs = {{"size", ints({2, -1, 4})}}},
                {.inputs = {{f16, Shape{}}}, .attrs = {{"size", ints({2, 3})}}},
                {.inputs = {{f32, {1, 3}}}, .attrs = {{"size", ints({0, 3})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_expand
