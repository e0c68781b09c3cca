#include "ir/ops/_resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tcc::ir::ops {

Ratio lowest_terms(const SymInt& p, const SymInt& q) {
  // Negative sizes are refused by the shape rule, and the least integer has no gcd.
  if (!p.is_const() || !q.is_const() || p.value() < 0 || q.value() < 0) return {p, q};
  const int64_t divisor = std::max<int64_t>(1, std::gcd(p.value(), q.value()));
  return {p.value() / divisor, q.value() / divisor};
}

Ratio to_ratio(double value) {
  // Continued fraction; the convergents p / q are the best approximations.
  constexpr double tolerance = 1e-12;
  constexpr int64_t limit = int64_t{1} << 24;
  int64_t p = 1, q = 0, previous_p = 0, previous_q = 1;
  double rest = value;
  while (rest < static_cast<double>(limit)) {
    const auto whole = static_cast<int64_t>(std::floor(rest));
    const int64_t next_p = whole * p + previous_p, next_q = whole * q + previous_q;
    if (next_p > limit || next_q > limit) break;
    previous_p = p, previous_q = q;
    p = next_p, q = next_q;
    const double error = std::fabs(static_cast<double>(p) / static_cast<double>(q) - value);
    if (error <= tolerance * value) return {p, q};
    rest = 1 / (rest - static_cast<double>(whole));
  }
  int exponent = 0;
  const double mantissa =
      std::frexp(value, &exponent);  // value = mantissa * 2^exponent, mantissa in [0.5, 1)
  const auto digits = static_cast<int64_t>(std::llround(std::ldexp(mantissa, 24)));
  const int shift = exponent - 24;
  return shift >= 0 ? Ratio{digits << shift, 1} : Ratio{digits, int64_t{1} << -shift};
}

SymInt nearest(const Resampled& dim, const SymInt& o, bool exact) {
  const SymInt& p = dim.step.p;
  const SymInt& q = dim.step.q;
  const SymInt index = exact ? floordiv((o * 2 + 1) * p, q * 2) : floordiv(o * p, q);
  return min(index, dim.in - 1);
}

Neighbours linear(const Resampled& dim, const SymInt& o, bool align_corners) {
  // The source position as numerator / denominator.
  SymInt numerator, denominator = 1;
  if (!align_corners) {
    numerator = max((o * 2 + 1) * dim.step.p - dim.step.q, SymInt(0));
    denominator = dim.step.q * 2;
  } else if (!dim.out.is(1)) {
    numerator = o * (dim.in - 1);
    denominator = max(dim.out - 1, SymInt(1));
  }
  const SymInt first = min(floordiv(numerator, denominator), dim.in - 1);
  return {first, min(first + 1, dim.in - 1), {mod(numerator, denominator), denominator}};
}

}  // namespace tcc::ir::ops
