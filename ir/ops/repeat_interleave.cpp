#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_movement.h"

namespace tcc::ir::ops::op_repeat_interleave {
namespace {

Shape shape(const InferContext& context) {
  Shape shape = context.inputs[0]->shape;
  const SymInt repeats = symint_attr(context, "repeats");
  const auto dims = dim_list(context, "dim", static_cast<int>(shape.size()));
  context.require(dims.size() <= 1, "dim must be one dim, or absent to flatten");
  if (dims.empty()) shape = {product(shape)};
  SymInt& extent = shape[dims.empty() ? 0 : static_cast<size_t>(dims[0])];
  extent = checked_size(context, extent, repeats);
  return checked_shape(context, shape);
}

std::vector<SymInt> source(const Node& node, std::span<const SymInt> index) {
  const Shape& x = node.inputs[0]->shape();
  const SymInt repeats = max(symint_attr(node, "repeats"), 1);
  const auto dims = dim_list(node, "dim", static_cast<int>(x.size()));
  std::vector<SymInt> result(index.begin(), index.end());
  SymInt& at = result[dims.empty() ? 0 : static_cast<size_t>(dims[0])];
  at = floordiv(at, repeats);
  return dims.empty() ? reshaped_index(result, {product(x)}, x) : result;
}

void reference(EvalContext& context) {
  const int64_t repeats = symint_attr(context.node, "repeats").value();
  const auto& x = context.inputs[0]->shape;
  const auto dims = dim_list(context.node, "dim", static_cast<int>(x.size()));
  copy_indexed(context, [&](std::span<const int64_t> index, std::span<int64_t> from) {
    if (dims.empty()) {
      const auto flat = index_of(index[0] / repeats, x);
      std::copy(flat.begin(), flat.end(), from.begin());
      return;
    }
    std::copy(index.begin(), index.end(), from.begin());
    from[static_cast<size_t>(dims[0])] /= repeats;
  });
}

}  // namespace

OpDef make() {
  OpDef op =
      view({.name = "repeat_interleave",
            .doc = "Every element `repeats` times in a row along `dim`, or of the flattened x; "
                   "torch.repeat_interleave",
            .attrs = {{"repeats", AttrType::ints, std::nullopt, {}, true},
                      {"dim", AttrType::ints, ints({}), {}, true}},
            .shape = shape,
            .source = source,
            .reference = reference});
  using enum DType;
  op.samples = {{.inputs = {{f32, {3, 5}}}, .attrs = {{"repeats", 2}, {"dim", 1}}},
                {.inputs = {{f32, {2, 3, 4}}}, .attrs = {{"repeats", 3}, {"dim", 0}}},
                {.inputs = {{f32, {3, 5}}}, .attrs = {{"repeats", 2}}},
                {.inputs = {{f16, {3}}}, .attrs = {{"repeats", 0}, {"dim", 0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_repeat_interleave
