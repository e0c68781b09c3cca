#include "ir/ratio.h"

#include <cmath>
#include <numeric>

namespace tcc::ir {
namespace {

constexpr int64_t kMostDenominator = int64_t{1} << 20;
constexpr double kMostNumerator = 0x1p40;

std::optional<Ratio> reduced(const SymInt& numerator, int64_t denominator) {
  int64_t left = denominator;
  SymInt over = numerator;
  const auto cancel = [&](int64_t divisor) {
    while (left % divisor == 0 && over.divisible_by(divisor)) {
      over = floordiv(over, divisor);
      left /= divisor;
    }
  };
  if (over.is_const())
    cancel(std::max<int64_t>(2, std::gcd(over.value(), left)));
  else if (left > 1)
    cancel(left);
  for (int64_t prime : {2, 3, 5, 7}) cancel(prime);
  if (left > kMostDenominator) return std::nullopt;
  return Ratio{over, left};
}

}  // namespace

std::optional<Ratio> ratio_of(double number) {
  const double scaled = number * static_cast<double>(kMostDenominator);
  if (!(std::abs(number) < kMostNumerator) || scaled != std::nearbyint(scaled)) return std::nullopt;
  return reduced(static_cast<int64_t>(scaled), kMostDenominator);
}

std::optional<Ratio> ratio_sum(const Ratio& a, const Ratio& b) {
  return reduced(a.numerator * b.denominator + b.numerator * a.denominator,
                 a.denominator * b.denominator);
}

std::optional<Ratio> ratio_product(const Ratio& a, const Ratio& b) {
  return reduced(a.numerator * b.numerator, a.denominator * b.denominator);
}

std::optional<Ratio> ratio_quotient(const Ratio& a, const Ratio& b) {
  if (!b.numerator.is_const()) return std::nullopt;
  const int64_t under = b.numerator.value();
  if (under == 0 || std::abs(under) > kMostDenominator) return std::nullopt;
  return reduced(a.numerator * b.denominator * (under < 0 ? -1 : 1),
                 a.denominator * std::abs(under));
}

std::optional<Ratio> ratio_min(const Ratio& a, const Ratio& b) {
  return reduced(min(a.numerator * b.denominator, b.numerator * a.denominator),
                 a.denominator * b.denominator);
}

std::optional<Ratio> ratio_max(const Ratio& a, const Ratio& b) {
  return reduced(max(a.numerator * b.denominator, b.numerator * a.denominator),
                 a.denominator * b.denominator);
}

std::optional<Ratio> truncated(const Ratio& x) {
  const Interval range = x.numerator.range();
  if (x.is_whole()) return x;
  if (range.lo >= 0) return Ratio{floordiv(x.numerator, x.denominator)};
  if (range.hi <= 0) return Ratio{ceildiv(x.numerator, x.denominator)};
  return std::nullopt;
}

std::optional<bool> ratio_compare(Fn fn, const Ratio& a, const Ratio& b) {
  const SymInt left = a.numerator * b.denominator, right = b.numerator * a.denominator;
  const Interval distance = (right - left).range();  // of b - a
  switch (fn) {
    case Fn::lt:
      return distance.lo > 0    ? std::optional(true)
             : distance.hi <= 0 ? std::optional(false)
                                : std::nullopt;
    case Fn::le:
      return distance.lo >= 0  ? std::optional(true)
             : distance.hi < 0 ? std::optional(false)
                               : std::nullopt;
    case Fn::gt: return ratio_compare(Fn::lt, b, a);
    case Fn::ge: return ratio_compare(Fn::le, b, a);
    case Fn::eq:
    case Fn::ne:
      if (left == right) return fn == Fn::eq;
      if (distance.lo > 0 || distance.hi < 0) return fn == Fn::ne;
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace tcc::ir
