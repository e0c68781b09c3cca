#include <optional>

#include "ir/builder.h"
#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_repeat {
namespace {

Shape repeated(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  Shape shape = symint_list(context.node, "repeats");
  context.require(shape.size() >= x.size(),
                  str("repeats ", shape_text(shape), " has fewer entries than ", shape_text(x)));
  checked_shape(context, shape);
  const size_t added = shape.size() - x.size();
  for (size_t d = 0; d < x.size(); ++d)
    shape[added + d] = checked_size(context, shape[added + d], x[d]);
  return checked_shape(context, shape);
}

std::vector<SymInt> source(const Node& node, std::span<const SymInt> index) {
  const Shape& x = node.inputs[0]->shape();
  std::vector<SymInt> result(index.end() - static_cast<std::ptrdiff_t>(x.size()), index.end());
  for (size_t d = 0; d < x.size(); ++d) result[d] = x[d].is(0) ? SymInt(0) : mod(result[d], x[d]);
  return result;
}

void reference(EvalContext& context) {
  const auto& x = context.inputs[0]->shape;
  copy_indexed(context, [&](std::span<const int64_t> index, std::span<int64_t> from) {
    const size_t added = index.size() - from.size();
    for (size_t d = 0; d < from.size(); ++d) from[d] = index[added + d] % x[d];
  });
}

}  // namespace

OpDef make() {
  OpDef op = view({.name = "repeat",
                   .doc = "x laid end to end, repeats[d] times along dim d, new dims in front; "
                          "torch.Tensor.repeat",
                   .attrs = {{"repeats", AttrType::ints, std::nullopt, {}, true}},
                   .shape = repeated,
                   .source = source,
                   .reference = reference});
  using enum DType;
  op.samples = {{.inputs = {{f32, {3, 5}}}, .attrs = {{"repeats", ints({2, 3})}}},
                {.inputs = {{f32, {4}}}, .attrs = {{"repeats", ints({2, 1, 2})}}},
                {.inputs = {{f16, {3, 2}}}, .attrs = {{"repeats", ints({0, 2})}}},
                {.inputs = {{i32, Shape{}}}, .attrs = {{"repeats", ints({3})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_repeat
