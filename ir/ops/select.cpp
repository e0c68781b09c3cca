#include <optional>

#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_select {
namespace {

// `index` of a dim of extent n, counted from the front.
SymInt place(const SymInt& index, const SymInt& n) {
  return index.range().hi < 0 ? n + index : index;
}

Shape shape(const InferContext& context) {
  Shape shape = context.inputs[0]->shape;
  const int dim = dim_attr(context, "dim", static_cast<int>(shape.size()));
  const SymInt index = symint_attr(context, "index");
  const SymInt at = place(index, shape[static_cast<size_t>(dim)]);
  const bool outside = at.range().hi < 0 || (at - shape[static_cast<size_t>(dim)]).range().lo >= 0;
  context.require(
      !outside, str("index ", index, " is out of range for dim ", dim, " of ", shape_text(shape)));
  shape.erase(shape.begin() + dim);
  return shape;
}

std::vector<SymInt> source(const Node& node, std::span<const SymInt> index) {
  const Shape& x = node.inputs[0]->shape();
  const int dim = dim_attr(node, "dim", static_cast<int>(x.size()));
  std::vector<SymInt> result(index.begin(), index.end());
  result.insert(result.begin() + dim,
                place(symint_attr(node, "index"), x[static_cast<size_t>(dim)]));
  return result;
}

void reference(EvalContext& context) {
  const auto& x = context.inputs[0]->shape;
  const int dim = dim_attr(context.node, "dim", static_cast<int>(x.size()));
  int64_t at = symint_attr(context.node, "index").value();
  if (at < 0) at += x[static_cast<size_t>(dim)];
  auto strides = strides_of(x);
  const int64_t offset = at * strides[static_cast<size_t>(dim)];
  strides.erase(strides.begin() + dim);
  copy_strided(context, offset, strides);
}

}  // namespace

OpDef make() {
  OpDef op = view({.name = "select",
                   .doc = "Element `index` of dim `dim`, which goes; torch.select",
                   .attrs = {{"dim", AttrType::integer, std::nullopt},
                             size_attr({"index", AttrType::ints, std::nullopt, {}, true})},
                   .shape = shape,
                   .source = source,
                   .reference = reference});
  using enum DType;
  op.samples = {{.inputs = {{f32, {4, 9, 3}}}, .attrs = {{"dim", 1}, {"index", 2}}},
                {.inputs = {{f32, {4, 9}}}, .attrs = {{"dim", 0}, {"index", -1}}},
                {.inputs = {{i64, {5}}}, .attrs = {{"dim", -1}, {"index", 0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_select
