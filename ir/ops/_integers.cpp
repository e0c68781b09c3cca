#include "ir/ops/_integers.h"

#include <cmath>

namespace tcc::ir::ops {
namespace {

int64_t unsigned_quotient(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
}

}  // namespace

int64_t trunc_quotient(DType dtype, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (!info(dtype).is_signed) return unsigned_quotient(a, b);
  return b == -1 ? wrapping_sub(0, a) : a / b;  // the lowest number / -1 traps
}

int64_t floor_quotient(DType dtype, int64_t a, int64_t b) {
  const int64_t quotient = trunc_quotient(dtype, a, b);
  const bool rounded_up =
      b != 0 && info(dtype).is_signed && (a < 0) != (b < 0) && trunc_remainder(dtype, a, b) != 0;
  return rounded_up ? quotient - 1 : quotient;
}

int64_t trunc_remainder(DType dtype, int64_t a, int64_t b) {
  return wrapping_sub(a, wrapping_mul(trunc_quotient(dtype, a, b), b));
}

int64_t floor_remainder(DType dtype, int64_t a, int64_t b) {
  return wrapping_sub(a, wrapping_mul(floor_quotient(dtype, a, b), b));
}

int64_t integer_power(DType dtype, int64_t a, int64_t b) {
  if (info(dtype).is_signed && b < 0) {
    if (a == 1) return 1;
    if (a == -1) return b % 2 == 0 ? 1 : -1;
    return 0;
  }
  int64_t result = 1;
  for (auto exponent = static_cast<uint64_t>(b); exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = wrapping_mul(result, a);
    a = wrapping_mul(a, a);
  }
  return result;
}

double floor_remainder(double a, double b) {
  const double remainder = std::fmod(a, b);
  return remainder != 0 && (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

double floor_quotient(double a, double b) {
  if (b == 0) return a / b;
  const double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

int64_t whole_value(double value) {
  if (value >= 0x1p63) return static_cast<int64_t>(static_cast<uint64_t>(value));
  return static_cast<int64_t>(value);
}

int three_way(DType dtype, int64_t a, int64_t b) {
  if (a == b) return 0;
  if (dtype == DType::u64) return static_cast<uint64_t>(a) < static_cast<uint64_t>(b) ? -1 : 1;
  return a < b ? -1 : 1;
}

}  // namespace tcc::ir::ops
