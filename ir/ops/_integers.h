// Division, and the integer arithmetic of the reference, which are defined for every operand, like
// the device's. Overflow wraps; a / 0 is 0 and a % 0 is a, so that a = (a / b) * b + a % b always
// holds.
#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace tcc::ir::ops {

inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Quotients rounded towards zero and towards minus infinity; remainders with the sign of a and of
// b.
int64_t trunc_quotient(DType dtype, int64_t a, int64_t b);
int64_t floor_quotient(DType dtype, int64_t a, int64_t b);
int64_t trunc_remainder(DType dtype, int64_t a, int64_t b);
int64_t floor_remainder(DType dtype, int64_t a, int64_t b);
// a to the power of b, wrapping. A negative b gives the whole part of the true power: 0, or 1 and
// -1 for those bases.
int64_t integer_power(DType dtype, int64_t a, int64_t b);
// These do the same for floats, like C10's div_floor_floating and remainder: they are right where a
// / b rounds to a whole number.
double floor_quotient(double a, double b);
double floor_remainder(double a, double b);
// Returns a number in [-2^63, 2^64) without its fraction, as an integer; from 2^63 on as the bits
// of a u64.
int64_t whole_value(double value);
// Returns -1, 0 or 1 where a is below, equal to or above b, in the order of `dtype`.
int three_way(DType dtype, int64_t a, int64_t b);

}  // namespace tcc::ir::ops
