#include "ir/ops/_pooling.h"

#include <cmath>
#include <limits>

#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

Expr identity_of(ReduceKind kind, DType dtype) {
  const double value = identity(kind, dtype);
  return is_float(dtype) ? constant(dtype, value)
                         : constant_int(dtype, static_cast<int64_t>(value));
}

// One spatial window of one image plane, starting at `plane`.
template <class T, class Combine>
T reduce_plane(const std::vector<T>& data, int64_t plane, std::span<const int64_t> extents,
               std::span<const WindowRange> ranges, T initial, Combine combine) {
  std::vector<int64_t> counts;
  for (const WindowRange& r : ranges) counts.push_back(r.count);
  std::vector<int64_t> k(counts.size(), 0);
  T total = initial;
  for (int64_t taps = count_of(counts); taps > 0; --taps, ops::advance(k, counts)) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < counts.size(); ++d) {
      const int64_t position = ranges[d].first + k[d] * ranges[d].step;
      inside &= position >= 0 && position < extents[d];
      offset = offset * extents[d] + position;
    }
    if (inside) total = combine(total, data[static_cast<size_t>(plane + offset)]);
  }
  return total;
}

double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

}  // namespace

Expr reduce_window(ElementContext& context, ReduceKind kind, std::span<const SymInt> index,
                   std::span<const SymInt> axes, std::span<const Tap> taps) {
  std::vector<SymInt> at(index.begin(), index.end() - static_cast<std::ptrdiff_t>(taps.size()));
  std::vector<Expr> conditions;
  for (const Tap& t : taps) {
    at.push_back(t.index);
    conditions.push_back(t.valid);
  }
  Expr value = context.operand(0, at);
  if (const Expr valid = all_of(conditions))
    value = select(valid, value, identity_of(kind, value->dtype));
  return reduce(kind, {axes.begin(), axes.end()}, value);
}

Expr divide_by_count(const Expr& sum, const SymInt& count) {
  const Expr divisor = count.is_const() ? constant(sum->dtype, static_cast<double>(count.value()))
                                        : cast(index_value(count), sum->dtype);
  return div(sum, divisor);
}

void pool_reference(EvalContext& context, ReduceKind kind, int spatial,
                    const std::function<WindowRange(size_t d, int64_t o)>& range,
                    const std::function<double(std::span<const int64_t> o)>& divisor) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  const size_t leading = x.shape.size() - static_cast<size_t>(spatial);
  const auto extents = std::span<const int64_t>(x.shape).subspan(leading);
  const int64_t plane_size = count_of(extents);
  const int64_t out_plane_size = count_of(std::span<const int64_t>(out.shape).subspan(leading));
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const auto o = index.subspan(leading);
    std::vector<WindowRange> ranges;
    for (size_t d = 0; d < o.size(); ++d) ranges.push_back(range(d, o[d]));
    const int64_t plane = offset / out_plane_size * plane_size;
    const auto to = static_cast<size_t>(offset);
    if (!x.is_float()) {
      const auto lowest = static_cast<int64_t>(identity(ReduceKind::max, x.dtype));
      out.i[to] = reduce_plane(x.i, plane, extents, ranges, lowest, [&](int64_t a, int64_t b) {
        const bool wide = x.dtype == DType::u64;
        return (wide ? static_cast<uint64_t>(b) > static_cast<uint64_t>(a) : b > a) ? b : a;
      });
    } else if (kind == ReduceKind::max) {
      out.f[to] = reduce_plane(x.f, plane, extents, ranges,
                               -std::numeric_limits<double>::infinity(), larger);
    } else {
      const double sum =
          reduce_plane(x.f, plane, extents, ranges, 0.0, [](double a, double b) { return a + b; });
      out.f[to] = sum / divisor(o);
    }
  });
}

}  // namespace tcc::ir::ops
