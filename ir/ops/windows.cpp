#include "ir/ops/_movement.h"
#include "support/error.h"

namespace tcc::ir::ops::op_windows {
namespace {

// Windows over dim `dim`, as a new last dim.
struct Windows {
  int dim;
  int64_t size, step;
};

Windows windows_of(const Node& node, int rank) {
  return {dim_attr(node, "dim", rank), node.attr<int64_t>("size"), node.attr<int64_t>("step")};
}

Shape shape(const InferContext& context) {
  Shape out = context.inputs[0]->shape;
  const int rank = static_cast<int>(out.size());
  context.require(rank > 0, "x must have a dim");
  dim_attr(context, "dim", rank);
  const Windows windows = windows_of(context.node, rank);
  context.require(windows.size > 0 && windows.step > 0, "size and step must be positive");
  SymInt& extent = out[static_cast<size_t>(windows.dim)];
  context.require(!extent.is_const() || extent.value() >= windows.size,
                  str("windows of ", windows.size, " elements in a dim of ", extent));
  extent = floordiv(extent - windows.size, windows.step) + 1;
  out.push_back(windows.size);
  return checked_shape(context, std::move(out));
}

std::vector<SymInt> source(const Node& node, std::span<const SymInt> index) {
  std::vector<SymInt> from(index.begin(), index.end() - 1);
  const Windows windows = windows_of(node, static_cast<int>(from.size()));
  SymInt& at = from[static_cast<size_t>(windows.dim)];
  at = at * windows.step + index.back();
  return from;
}

void reference(EvalContext& context) {
  std::vector<int64_t> strides = strides_of(context.inputs[0]->shape);
  const Windows windows = windows_of(context.node, static_cast<int>(strides.size()));
  int64_t& stride = strides[static_cast<size_t>(windows.dim)];
  strides.push_back(stride);
  strides[static_cast<size_t>(windows.dim)] *= windows.step;
  copy_strided(context, 0, strides);
}

}  // namespace

OpDef make() {
  OpDef op =
      view({.name = "windows",
            .doc = "The windows of `size` elements of dim `dim`, `step` apart, as a new last "
                   "dim; torch.Tensor.unfold",
            .attrs = {{"dim", AttrType::integer, int64_t{0}},
                      {"size", AttrType::integer, std::nullopt},
                      {"step", AttrType::integer, int64_t{1}}},
            .shape = shape,
            .source = source,
            .reference = reference});
  using enum DType;
  op.samples = {{.inputs = {{f32, {7}}}, .attrs = {{"size", 3}}},
                {.inputs = {{f32, {4, 9}}}, .attrs = {{"dim", -1}, {"size", 4}, {"step", 2}}},
                {.inputs = {{f16, {5, 3, 2}}}, .attrs = {{"size", 2}, {"step", 3}}},
                {.inputs = {{i32, {2, 6}}}, .attrs = {{"dim", 1}, {"size", 6}}},
                {.inputs = {{f32, {0, 4}}}, .attrs = {{"dim", 1}, {"size", 2}}}};
  op.takes_f8 = true;
  return op;
}

}  // namespace tcc::ir::ops::op_windows
