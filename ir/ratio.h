// Floating-point arithmetic on dims computes quotients of symbolic integers and numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/scalar.h"
#include "ir/symint.h"

namespace tcc::ir {

// A quotient in lowest terms, as far as common factors are found; the denominator is positive.
struct Ratio {
  SymInt numerator;
  int64_t denominator = 1;
  Ratio(SymInt whole) : numerator(std::move(whole)) {}  // NOLINT: implicit on purpose
  Ratio(int whole) : numerator(whole) {}                // NOLINT
  Ratio(SymInt over, int64_t under) : numerator(std::move(over)), denominator(under) {}
  bool is_whole() const { return denominator == 1; }
};

// Each returns nothing where the result would have no short denominator.
//
// Converts a double that is a multiple of 2^-20; nothing for others.
std::optional<Ratio> ratio_of(double number);
std::optional<Ratio> ratio_sum(const Ratio& a, const Ratio& b);
std::optional<Ratio> ratio_product(const Ratio& a, const Ratio& b);
// The divisor must be a number.
std::optional<Ratio> ratio_quotient(const Ratio& a, const Ratio& b);
std::optional<Ratio> ratio_min(const Ratio& a, const Ratio& b);
std::optional<Ratio> ratio_max(const Ratio& a, const Ratio& b);
// Rounds towards zero; nothing where the sign is not known.
std::optional<Ratio> truncated(const Ratio& x);
// Evaluates lt, le, gt, ge, eq or ne; nothing where the ranges of the dims do not decide it.
std::optional<bool> ratio_compare(Fn fn, const Ratio& a, const Ratio& b);

}  // namespace tcc::ir
