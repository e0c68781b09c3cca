#include <optional>

#include "ir/ops/_slice.h"
#include "support/error.h"

namespace tcc::ir::ops::op_narrow {
namespace {

SliceRange range_of(const Node& node, const Shape& x, int dim) {
  const SymInt start = symint_attr(node, "start");
  const bool from_end = start.range().hi < 0;
  return {.dim = dim,
          .start = from_end ? x[static_cast<size_t>(dim)] + start : start,
          .length = symint_attr(node, "length"),
          .step = 1};
}

SliceRange range_of(const Node& node) {
  const Shape& x = node.inputs[0]->shape();
  return range_of(node, x, dim_attr(node, "dim", static_cast<int>(x.size())));
}

Shape shape(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  const int dim = dim_attr(context, "dim", static_cast<int>(x.size()));
  symint_attr(context, "start");
  symint_attr(context, "length");
  const SliceRange range = range_of(context.node, x, dim);
  const SymInt& extent = x[static_cast<size_t>(dim)];
  const bool outside = range.start.range().hi < 0 || range.length.range().hi < 0 ||
                       (range.start + range.length - extent).range().lo > 0;
  context.require(!outside, str("start ", range.start, " and length ", range.length,
                                " go beyond dim ", dim, " of ", shape_text(x)));
  return sliced_shape(x, range);
}

void reference(EvalContext& context) {
  const auto& x = context.inputs[0]->shape;
  const int dim = dim_attr(context.node, "dim", static_cast<int>(x.size()));
  int64_t start = symint_attr(context.node, "start").value();
  if (start < 0) start += x[static_cast<size_t>(dim)];
  copy_slice(context, dim, start, 1);
}

}  // namespace

OpDef make() {
  OpDef op = view(
      {.name = "narrow",
       .doc = "`length` elements of dim `dim` from `start` on; torch.narrow",
       .attrs = {{"dim", AttrType::integer, std::nullopt},
                 size_attr({"start", AttrType::ints, std::nullopt, {}, true}),
                 size_attr({"length", AttrType::ints, std::nullopt, {}, true})},
       .shape = shape,
       .source = [](const Node& node,
                    std::span<const SymInt> index) { return sliced_source(range_of(node), index); },
       .reference = reference});
  const auto x = Type{DType::f32, {4, 9, 3}};
  op.samples = {{.inputs = {x}, .attrs = {{"dim", 1}, {"start", 2}, {"length", 5}}},
                {.inputs = {x}, .attrs = {{"dim", 0}, {"start", -2}, {"length", 2}}},
                {.inputs = {x}, .attrs = {{"dim", 2}, {"start", 3}, {"length", 0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_narrow
