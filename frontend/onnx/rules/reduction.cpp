// Reductions and arg-reductions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

struct Axes {
  std::vector<int64_t> dims;
  bool keepdim;
  bool nothing;  // no axes given, and that means: leave x as it is
};

// ReduceSum takes its axes as an input from opset 13 on, the others from 18 on.
Axes reduced_axes(OpNode& n, int since) {
  const int rank = n.in(0)->rank();
  const auto given = axes_attr_or_input(n, since, 1);
  const bool keepdim = n.flag("keepdims", true);
  const bool noop = n.opset >= since && n.flag("noop_with_empty_axes", false);
  if (given && !given->empty()) return {n.axes(*given, rank), keepdim, false};
  return {iota(0, rank), keepdim, noop};
}

Value* reduce(OpNode& n, std::string_view op, Value* x, const Axes& axes) {
  if (axes.nothing || axes.dims.empty()) return x;
  return n.b.reduce(op, x, axes.dims, axes.keepdim);
}

// Sums keep the type of x, where PyTorch widens integers.
template <const char* op, int since>
Results simple(OpNode& n) {
  Value* x = n.in(0);
  return {n.b.cast(reduce(n, op, x, reduced_axes(n, since)), x->dtype())};
}

// The extremum of nothing: the end of the type's range.
Value* end_of_range(OpNode& n, const Value* x, const Axes& axes, bool lowest) {
  const DType dtype = x->dtype();
  Tensor end(dtype, {});
  const bool is_signed = info(dtype).is_signed;
  const int bits = 8 * size_bytes(dtype);
  const int64_t least = std::numeric_limits<int64_t>::min() >> (64 - bits);
  if (is_float(dtype))
    end.set(0, lowest ? -HUGE_VAL : HUGE_VAL);
  else if (dtype == DType::boolean)
    end.set_int(0, lowest ? 0 : 1);
  else
    end.set_int(0, lowest ? (is_signed ? least : 0) : (is_signed ? ~least : -1));
  Shape shape;
  for (int64_t d = 0; d < x->rank(); ++d)
    if (std::ranges::find(axes.dims, d) == axes.dims.end())
      shape.push_back(x->shape()[static_cast<size_t>(d)]);
    else if (axes.keepdim)
      shape.emplace_back(1);
  return n.b.expand(n.constant(std::make_shared<const Tensor>(std::move(end))), shape);
}

// Returns whether one of the reduced dims is empty.
bool reduces_nothing(const Value* x, const Axes& axes) {
  return !axes.nothing && std::ranges::any_of(axes.dims, [&](int64_t d) {
    return x->shape()[static_cast<size_t>(d)].is(0);
  });
}

template <const char* op>
Results extremum(OpNode& n) {
  Value* x = n.in(0);
  const Axes axes = reduced_axes(n, 18);
  if (reduces_nothing(x, axes)) return {end_of_range(n, x, axes, std::string_view(op) == "amax")};
  if (x->dtype() != DType::boolean) return {reduce(n, op, x, axes)};
  Value* wide = n.b.cast(x, DType::i32);
  return {n.b.cast(reduce(n, op, wide, axes), DType::boolean)};
}

Results reduce_mean(OpNode& n) {
  Value* x = n.in(0);
  const Axes axes = reduced_axes(n, 18);
  Value* wide = is_float(x->dtype()) ? x : n.b.cast(x, DType::f64);
  return {n.b.cast(reduce(n, "mean", wide, axes), x->dtype())};
}

enum class Before : uint8_t { nothing, absolute, square };
enum class After : uint8_t { nothing, root, logarithm };

// The sum of a function of x, and a function of that: in floating point.
template <Before before, After after>
Results composed(OpNode& n) {
  Value* x = n.in(0);
  const Axes axes = reduced_axes(n, 18);
  const bool in_floats = after != After::nothing;
  Value* y = is_float(x->dtype()) ? n.b.compute(x) : in_floats ? n.b.cast(x, DType::f64) : x;
  if (before == Before::absolute) y = n.b.unary("abs", y);
  if (before == Before::square) y = n.b.mul(y, y);
  y = reduce(n, "sum", y, axes);
  if (after == After::root) y = n.b.unary("sqrt", y);
  if (after == After::logarithm) y = n.b.unary("log", y);
  return {n.b.cast(y, x->dtype())};
}

Results log_sum_exp(OpNode& n) {
  Value* x = n.in(0);
  const Axes axes = reduced_axes(n, 18);
  if (axes.nothing) return {x};
  if (is_float(x->dtype()) && reduces_nothing(x, axes)) return {end_of_range(n, x, axes, true)};
  Value* y = is_float(x->dtype()) ? x : n.b.cast(x, DType::f64);
  return {n.b.cast(reduce(n, "logsumexp", y, axes), x->dtype())};
}

// The first of several equal ones, or the last.
template <const char* op>
Results arg(OpNode& n) {
  Value* x = n.in(0);
  const int64_t dim = n.axis(n.integer("axis", 0), x->rank());
  const bool keepdim = n.flag("keepdims", true), last = n.flag("select_last_index", false);
  if (!last) return {n.b.op(op, {x}, {{"dim", ir::ints({dim})}, {"keepdim", keepdim}})};
  Value* flipped = n.b.op("flip", {x}, {{"dims", ir::ints({dim})}});
  Value* from_end = n.b.op(op, {flipped}, {{"dim", ir::ints({dim})}, {"keepdim", keepdim}});
  const SymInt end = x->shape()[static_cast<size_t>(dim)] - 1;
  return {n.b.sub(scalar(n, end), from_end)};
}

constexpr char kArgmax[] = "argmax", kArgmin[] = "argmin", kMax[] = "amax", kMin[] = "amin",
               kProd[] = "prod", kSum[] = "sum";

constexpr Rule kReductionRules[] = {
    {"ArgMax", arg<kArgmax>},
    {"ArgMin", arg<kArgmin>},
    {"ReduceL1", composed<Before::absolute, After::nothing>},
    {"ReduceL2", composed<Before::square, After::root>},
    {"ReduceLogSum", composed<Before::nothing, After::logarithm>},
    {"ReduceLogSumExp", log_sum_exp},
    {"ReduceMax", extremum<kMax>},
    {"ReduceMean", reduce_mean},
    {"ReduceMin", extremum<kMin>},
    {"ReduceProd", simple<kProd, 18>},
    {"ReduceSum", simple<kSum, 13>},
    {"ReduceSumSquare", composed<Before::square, After::nothing>},
};

}  // namespace

std::span<const Rule> reduction_rules() { return kReductionRules; }

}  // namespace tcc::onnx
