#include "ir/ops/_slice.h"

namespace tcc::ir::ops {
namespace {

// The largest end that still means a place in a dim; PyTorch writes 2^63 - 1 for "to the end".
constexpr int64_t kToTheEnd = kUnbounded;

// `bound` of a dim of extent n as a place in [0, n], as far as the sizes decide it.
SymInt place(const SymInt& bound, const SymInt& n, bool is_end) {
  if (bound.is_const() && bound.value() >= kToTheEnd) return n;
  if (bound.is_const() && bound.value() <= -kToTheEnd) return 0;
  const bool from_end = bound.is_const() ? bound.value() < 0 : bound.range().hi < 0;
  const SymInt at = from_end ? n + bound : bound;
  if (at.is_const() && at.value() < 0) return 0;
  const SymInt beyond = at - n;
  if (beyond.range().hi <= 0) return at;
  if (beyond.range().lo >= 0) return n;
  // Left open by symbols. An end is the smaller of the two; a start is taken to lie within the dim,
  // or nothing that begins at 1 would have a simple shape.
  return is_end && !from_end ? min(at, n) : at;
}

}  // namespace

SliceRange slice_range(const Node& node, const Shape& x, int dim) {
  const SymInt& n = x[static_cast<size_t>(dim)];
  SliceRange range;
  range.dim = dim;
  range.step = node.attr<int64_t>("step");
  range.start = place(symint_attr(node, "start"), n, false);
  const SymInt span = place(symint_attr(node, "end"), n, true) - range.start;
  range.length = span.range().hi <= 0 ? SymInt(0) : ceildiv(span, range.step);
  return range;
}

Shape sliced_shape(const Shape& x, const SliceRange& range) {
  Shape shape = x;
  shape[static_cast<size_t>(range.dim)] = range.length;
  return shape;
}

std::vector<SymInt> sliced_source(const SliceRange& range, std::span<const SymInt> index) {
  std::vector<SymInt> source(index.begin(), index.end());
  SymInt& at = source[static_cast<size_t>(range.dim)];
  at = range.start + at * range.step;
  return source;
}

void copy_slice(EvalContext& context, int dim, int64_t start, int64_t step) {
  auto strides = strides_of(context.inputs[0]->shape);
  const int64_t offset = start * strides[static_cast<size_t>(dim)];
  strides[static_cast<size_t>(dim)] *= step;
  copy_strided(context, offset, strides);
}

}  // namespace tcc::ir::ops
