#include <algorithm>
#include <limits>

#include "ir/builder.h"
#include "ir/ops/_slice.h"
#include "support/error.h"

namespace tcc::ir::ops::op_slice {
namespace {

int rank_of(const Node& node) { return node.inputs[0]->rank(); }

SliceRange range_of(const Node& node) {
  return slice_range(node, node.inputs[0]->shape(), dim_attr(node, "dim", rank_of(node)));
}

Shape shape(const InferContext& context) {
  const Shape& x = context.inputs[0]->shape;
  const int dim = dim_attr(context, "dim", static_cast<int>(x.size()));
  const int64_t step = context.node.attr<int64_t>("step");
  context.require(step > 0, str("step must be positive, not ", step));
  symint_attr(context, "start");
  symint_attr(context, "end");
  return sliced_shape(x, slice_range(context.node, x, dim));
}

void reference(EvalContext& context) {
  const int dim = dim_attr(context.node, "dim", rank_of(context.node));
  const int64_t extent = context.inputs[0]->shape[static_cast<size_t>(dim)];
  int64_t start = symint_attr(context.node, "start").value();
  if (start < 0) start += extent;
  start = std::clamp<int64_t>(start, 0, extent);
  copy_slice(context, dim, start, context.node.attr<int64_t>("step"));
}

}  // namespace

OpDef make() {
  constexpr int64_t to_the_end = std::numeric_limits<int64_t>::max();
  OpDef op = view(
      {.name = "slice",
       .doc = "x[start:end:step] of dim `dim`, as Python slices; step > 0; bounds may be "
              "symbolic; torch.ops.aten.slice",
       .attrs = {{"dim", AttrType::integer, int64_t{0}},
                 size_attr({"start", AttrType::ints, ints({0}), {}, true}),
                 size_attr({"end", AttrType::ints, ints({to_the_end}), {}, true}),
                 {"step", AttrType::integer, int64_t{1}}},
       .shape = shape,
       .source = [](const Node& node,
                    std::span<const SymInt> index) { return sliced_source(range_of(node), index); },
       .reference = reference});
  const auto x = Type{DType::f32, {4, 9, 3}};
  op.samples = {{.inputs = {x}, .attrs = {{"dim", 1}, {"start", 2}, {"end", 7}}},
                {.inputs = {x}, .attrs = {{"dim", 1}, {"start", -4}, {"end", -1}}},
                {.inputs = {x}, .attrs = {{"dim", -2}, {"start", 1}, {"step", 3}}},
                {.inputs = {x}, .attrs = {{"start", 3}, {"end", 99}}},
                {.inputs = {x}, .attrs = {{"start", 3}, {"end", 1}}},
                {.inputs = {{DType::f16, {0, 4}}}, .attrs = {{"dim", 1}, {"end", 2}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_slice
