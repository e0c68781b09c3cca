#include "scheduler/templates/index_sum.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tcc::sched {
namespace {

using ir::Expr;
using ir::Fn;
using ir::Interval;
using ir::SymInt;
using Kind = ir::ExprNode::Kind;

// Numbers of 64 and of 32 bits up to these may be added to others without wrapping.
constexpr int64_t kMost64 = int64_t{1} << 61, kMost32 = int64_t{1} << 30;
constexpr int64_t kMostAxes = int64_t{1} << 40;

Expr number_of(int64_t value) { return ir::constant_int(DType::i64, value); }

Expr clamped(const Expr& number, int64_t most) {
  return ir::call(Fn::minimum,
                  {ir::call(Fn::maximum, {number, number_of(-most)}), number_of(most)});
}

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  return b ? ir::call(Fn::logical_and, {a, b}) : a;
}

// From here on the number is no further than `most` from 0.
void limit(IndexSum& sum, int64_t most) {
  if (!sum.is_any && sum.within.lo >= -most && sum.within.hi <= most) return;
  const Expr near = ir::call(Fn::logical_and, {ir::call(Fn::ge, {sum.number, number_of(-most)}),
                                               ir::call(Fn::le, {sum.number, number_of(most)})});
  sum.safe = both(sum.safe, near);
  sum.within = sum.is_any ? Interval{-most, most}
                          : Interval{std::max(sum.within.lo, -most), std::min(sum.within.hi, most)};
  sum.is_any = false;
}

IndexSum added(IndexSum a, IndexSum b, Fn fn) {
  if (a.is_any) limit(a, kMost64);
  if (b.is_any) limit(b, kMost64);
  IndexSum sum;
  sum.axes = fn == Fn::add ? a.axes + b.axes : a.axes - b.axes;
  sum.safe = both(a.safe, b.safe);
  sum.within = fn == Fn::add ? Interval{a.within.lo + b.within.lo, a.within.hi + b.within.hi}
                             : Interval{a.within.lo - b.within.hi, a.within.hi - b.within.lo};
  if (a.number && b.number)
    sum.number = ir::call(fn, {a.number, b.number});
  else if (b.number && fn == Fn::sub)
    sum.number = ir::call(Fn::sub, {number_of(0), b.number});
  else
    sum.number = a.number ? a.number : b.number;
  return sum;
}

// Whether a type has all values of the sum.
bool fits(const IndexSum& sum, DType dtype) {
  const int bits = 8 * size_bytes(dtype) - (info(dtype).is_signed ? 1 : 0);
  const Interval axes = sum.axes.range();
  if (axes.lo <= -kMostAxes || axes.hi >= kMostAxes) return false;
  const int64_t most = bits > 62 ? int64_t{1} << 62 : int64_t{1} << bits;
  const int64_t lo = axes.lo + sum.within.lo, hi = axes.hi + sum.within.hi;
  return hi < most && lo >= (info(dtype).is_signed ? -most : 0);
}

std::optional<IndexSum> fitted(IndexSum sum, DType dtype) {
  if (sum.is_any)
    return sum.axes.is(0) && size_bytes(dtype) == 8 ? std::optional(sum) : std::nullopt;
  if (!fits(sum, dtype) && sum.number && size_bytes(dtype) >= 4)
    limit(sum, size_bytes(dtype) == 4 ? kMost32 : kMost64);
  return fits(sum, dtype) ? std::optional(std::move(sum)) : std::nullopt;
}

IndexSum times(IndexSum sum, int64_t factor) {
  if (factor == 0) return {};
  sum.axes = sum.axes * factor;
  if (!sum.number) return sum;
  limit(sum, kMost64 / std::abs(factor));
  sum.number = ir::call(Fn::mul, {sum.number, number_of(factor)});
  sum.within = {sum.within.lo * factor, sum.within.hi * factor};
  if (factor < 0) std::swap(sum.within.lo, sum.within.hi);
  return sum;
}

std::optional<IndexSum> arithmetic(const Expr& e, const IndexSum& a, const IndexSum& b) {
  if (e->fn == Fn::add || e->fn == Fn::sub) return fitted(added(a, b, e->fn), e->dtype);
  if (e->fn == Fn::mul) {
    for (const auto& [sum, factor] : {std::pair{&a, &b}, {&b, &a}})
      if (!factor->number && factor->axes.is_const() && std::abs(factor->axes.value()) < kMostAxes)
        return fitted(times(*sum, factor->axes.value()), e->dtype);
    return std::nullopt;
  }
  if (a.number || b.number) return std::nullopt;
  if (e->fn == Fn::minimum) return fitted({.axes = min(a.axes, b.axes)}, e->dtype);
  if (e->fn == Fn::maximum) return fitted({.axes = max(a.axes, b.axes)}, e->dtype);
  return std::nullopt;
}

// The value itself, which its type has.
std::optional<IndexSum> loaded(const Expr& e) {
  const int bits = 8 * size_bytes(e->dtype);
  const bool is_signed = info(e->dtype).is_signed;
  if (bits == 64 && !is_signed) return std::nullopt;
  IndexSum sum;
  sum.number = ir::cast(e, DType::i64);
  sum.is_any = bits == 64;
  if (bits < 64)
    sum.within = is_signed ? Interval{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1}
                           : Interval{0, (int64_t{1} << bits) - 1};
  return sum;
}

}  // namespace

Expr IndexSum::clamped_number(int64_t far) const { return clamped(number, far); }

std::optional<IndexSum> index_sum(const Expr& e,
                                  const std::function<bool(const Expr&)>& is_number) {
  if (is_float(e->dtype) || e->dtype == DType::boolean) return std::nullopt;
  if (e->kind == Kind::index) return IndexSum{.axes = e->index};
  if (e->kind == Kind::constant) return IndexSum{.axes = SymInt(e->integer)};
  std::optional<IndexSum> sum;
  if (e->kind == Kind::cast) {
    if (const auto inner = index_sum(e->args[0], is_number)) sum = fitted(*inner, e->dtype);
  } else if (e->kind == Kind::call && e->args.size() == 2) {
    const auto a = index_sum(e->args[0], is_number), b = index_sum(e->args[1], is_number);
    if (a && b) sum = arithmetic(e, *a, *b);
  }
  if (sum && !sum->number) return sum;
  return is_number(e) ? loaded(e) : sum;
}

std::optional<IndexSum> difference(IndexSum a, IndexSum b) {
  // The sign of a lone number is that of the nearest one that may be added to axes.
  for (auto [of, other] : {std::pair{&a, &b}, {&b, &a}})
    if (of->is_any && !other->number) {
      of->number = clamped(of->number, kMost64);
      of->within = {-kMost64, kMost64};
      of->is_any = false;
    }
  return fitted(added(std::move(a), std::move(b), Fn::sub), DType::i64);
}

}  // namespace tcc::sched
