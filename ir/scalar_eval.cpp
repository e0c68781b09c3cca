#include "ir/scalar_eval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/error.h"

namespace tcc::ir {

namespace {

std::optional<double> unary_float(Fn fn, double x) {
  switch (fn) {
    case Fn::neg: return -x;
    case Fn::abs: return std::fabs(x);
    case Fn::sign: return (x > 0) - (x < 0);
    case Fn::floor: return std::floor(x);
    case Fn::ceil: return std::ceil(x);
    case Fn::round: return std::nearbyint(x);
    case Fn::trunc: return std::trunc(x);
    case Fn::sqrt: return std::sqrt(x);
    case Fn::rsqrt: return 1 / std::sqrt(x);
    case Fn::exp: return std::exp(x);
    case Fn::exp2: return std::exp2(x);
    case Fn::expm1: return std::expm1(x);
    case Fn::log: return std::log(x);
    case Fn::log2: return std::log2(x);
    case Fn::log10: return std::log10(x);
    case Fn::log1p: return std::log1p(x);
    case Fn::sin: return std::sin(x);
    case Fn::cos: return std::cos(x);
    case Fn::tan: return std::tan(x);
    case Fn::asin: return std::asin(x);
    case Fn::acos: return std::acos(x);
    case Fn::atan: return std::atan(x);
    case Fn::sinh: return std::sinh(x);
    case Fn::cosh: return std::cosh(x);
    case Fn::tanh: return std::tanh(x);
    case Fn::asinh: return std::asinh(x);
    case Fn::acosh: return std::acosh(x);
    case Fn::atanh: return std::atanh(x);
    case Fn::erf: return std::erf(x);
    case Fn::erfc: return std::erfc(x);
    case Fn::sigmoid: return 1 / (1 + std::exp(-x));
    case Fn::exp_term: return std::exp(x);
    case Fn::normal_cdf: return 0.5 * std::erfc(-x * 0.70710678118654752440);
    default: return std::nullopt;
  }
}

double propagate_nan(double a, double b, double result) {
  return std::isnan(a) ? a : std::isnan(b) ? b : result;
}

// Operands of f32 are exact in f64, and +, -, *, / and sqrt then round to f32 as if done there (53
// >= 2 * 24 + 2 bits).
std::optional<double> binary_float(Fn fn, double a, double b) {
  switch (fn) {
    case Fn::add: return a + b;
    case Fn::sub: return a - b;
    case Fn::mul: return a * b;
    case Fn::div: return a / b;
    case Fn::fmod: return std::fmod(a, b);
    case Fn::pow: return std::pow(a, b);
    case Fn::minimum: return propagate_nan(a, b, b < a ? b : a);
    case Fn::maximum:
    case Fn::max_number: return propagate_nan(a, b, b > a ? b : a);
    case Fn::copysign: return std::copysign(a, b);
    case Fn::atan2: return std::atan2(a, b);
    default: return std::nullopt;
  }
}

template <class T>
std::optional<bool> compare(Fn fn, T a, T b) {
  switch (fn) {
    case Fn::eq: return a == b;
    case Fn::ne: return a != b;
    case Fn::lt: return a < b;
    case Fn::le: return a <= b;
    case Fn::gt: return a > b;
    case Fn::ge: return a >= b;
    default: return std::nullopt;
  }
}

std::optional<bool> classify(Fn fn, double x) {
  switch (fn) {
    case Fn::isnan: return std::isnan(x);
    case Fn::isinf: return std::isinf(x);
    case Fn::isfinite: return std::isfinite(x);
    default: return std::nullopt;
  }
}

std::optional<bool> logical(Fn fn, std::span<const Number> args) {
  const bool a = args[0].integer != 0, b = args.size() > 1 && args[1].integer != 0;
  switch (fn) {
    case Fn::logical_and: return a && b;
    case Fn::logical_or: return a || b;
    case Fn::logical_not: return !a;
    default: return std::nullopt;
  }
}

std::optional<int64_t> unary_int(Fn fn, DType dtype, int64_t x) {
  const bool negative = info(dtype).is_signed && x < 0;
  const int64_t negated = static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  switch (fn) {
    case Fn::neg: return negated;
    case Fn::abs: return negative ? negated : x;
    case Fn::sign: return negative ? -1 : x != 0;
    case Fn::floor:
    case Fn::ceil:
    case Fn::round:
    case Fn::trunc: return x;
    case Fn::bitwise_not: return dtype == DType::boolean ? x == 0 : ~x;
    default: return std::nullopt;
  }
}

// Rounded towards zero; T is int64_t or uint64_t.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if (b == static_cast<T>(-1) && std::is_signed_v<T>)
    return static_cast<T>(0 - static_cast<uint64_t>(a));
  return a / b;
}

template <class T>
std::optional<T> divide_int(Fn fn, T a, T b) {
  const T towards_zero = quotient(a, b);
  const T rest = static_cast<T>(static_cast<uint64_t>(a) -
                                static_cast<uint64_t>(towards_zero) * static_cast<uint64_t>(b));
  const bool below = b != 0 && rest != 0 && std::is_signed_v<T> && (rest < 0) != (b < 0);
  switch (fn) {
    case Fn::div: return towards_zero;
    case Fn::floordiv: return below ? towards_zero - 1 : towards_zero;
    case Fn::fmod: return rest;
    case Fn::remainder: return below ? rest + b : rest;
    case Fn::minimum: return std::min(a, b);
    case Fn::maximum: return std::max(a, b);
    default: return std::nullopt;
  }
}

std::optional<int64_t> shift(Fn fn, DType dtype, int64_t a, int64_t by) {
  const bool fits = by >= 0 && by < 8 * size_bytes(dtype);
  if (fn == Fn::shift_left) return fits ? static_cast<int64_t>(static_cast<uint64_t>(a) << by) : 0;
  if (info(dtype).is_signed) return a >> (fits ? by : 63);
  return fits ? static_cast<int64_t>(static_cast<uint64_t>(a) >> by) : 0;
}

std::optional<int64_t> binary_int(Fn fn, DType dtype, int64_t a, int64_t b) {
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (fn) {
    case Fn::add: return static_cast<int64_t>(x + y);
    case Fn::sub: return static_cast<int64_t>(x - y);
    case Fn::mul: return static_cast<int64_t>(x * y);
    case Fn::bitwise_and: return a & b;
    case Fn::bitwise_or: return a | b;
    case Fn::bitwise_xor: return a ^ b;
    case Fn::shift_left:
    case Fn::shift_right: return shift(fn, dtype, a, b);
    default: break;
  }
  if (info(dtype).is_signed) return divide_int<int64_t>(fn, a, b);
  const auto result = divide_int<uint64_t>(fn, x, y);
  if (!result) return std::nullopt;
  return static_cast<int64_t>(*result);
}

std::optional<double> float_call(Fn fn, DType dtype, std::span<const Number> args) {
  const double a = args[0].number;
  if (args.size() == 1) return unary_float(fn, a);
  const double b = args[1].number;
  if (args.size() == 2) return binary_float(fn, a, b);
  if (fn != Fn::fma) return std::nullopt;
  const double c = args[2].number;
  if (dtype == DType::f64) return std::fma(a, b, c);
  return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

std::optional<int64_t> int_call(Fn fn, DType dtype, std::span<const Number> args) {
  if (args.size() == 1) return unary_int(fn, dtype, args[0].integer);
  if (args.size() == 2) return binary_int(fn, dtype, args[0].integer, args[1].integer);
  if (fn != Fn::fma) return std::nullopt;
  const int64_t product = *binary_int(Fn::mul, dtype, args[0].integer, args[1].integer);
  return binary_int(Fn::add, dtype, product, args[2].integer);
}

std::optional<bool> bool_call(Fn fn, DType operand, std::span<const Number> args) {
  if (fn == Fn::logical_and || fn == Fn::logical_or || fn == Fn::logical_not)
    return logical(fn, args);
  if (args.size() == 1)
    return is_float(operand) ? classify(fn, args[0].number) : fn == Fn::isfinite;
  if (is_float(operand)) return compare(fn, args[0].number, args[1].number);
  if (info(operand).is_signed) return compare(fn, args[0].integer, args[1].integer);
  return compare(fn, static_cast<uint64_t>(args[0].integer),
                 static_cast<uint64_t>(args[1].integer));
}

int64_t saturate(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  const double low = identity(ReduceKind::max, dtype), high = identity(ReduceKind::min, dtype);
  const double whole = std::trunc(value);
  if (whole <= low) return identity_int(ReduceKind::max, dtype);
  if (whole >= high) return identity_int(ReduceKind::min, dtype);
  return dtype == DType::u64 ? static_cast<int64_t>(static_cast<uint64_t>(whole))
                             : static_cast<int64_t>(whole);
}

// Integers reach f16 and bf16 through f32, as on the devices.
double int_to_float(int64_t bits, DType from, DType dtype) {
  const bool is_unsigned = from == DType::u64;
  if (dtype == DType::f64)
    return is_unsigned ? static_cast<double>(static_cast<uint64_t>(bits))
                       : static_cast<double>(bits);
  return is_unsigned ? static_cast<float>(static_cast<uint64_t>(bits)) : static_cast<float>(bits);
}

}  // namespace

std::optional<Number> evaluate_call(Fn fn, DType operand, std::span<const Number> args) {
  if (fn == Fn::select || fn == Fn::rand_uniform || fn == Fn::rand_normal) return std::nullopt;
  if (info(fn).to_bool) {
    const auto result = bool_call(fn, operand, args);
    return result ? std::optional(Number{0, *result}) : std::nullopt;
  }
  if (is_float(operand)) {
    const auto result = float_call(fn, operand, args);
    return result ? std::optional(Number{*result, 0}) : std::nullopt;
  }
  const bool arithmetic = fn == Fn::sub || fn == Fn::neg || fn == Fn::floordiv || fn == Fn::div;
  if (operand == DType::boolean && arithmetic) return std::nullopt;
  const auto result = int_call(fn, operand, args);
  return result ? std::optional(Number{0, *result}) : std::nullopt;
}

Number evaluate_cast(Number value, DType from, DType to) {
  if (is_float(from)) {
    if (is_float(to)) return value;
    if (to == DType::boolean) return {0, value.number != 0};
    return {0, saturate(value.number, to)};
  }
  if (is_float(to)) return {int_to_float(value.integer, from, to), 0};
  return {0, value.integer};
}

}  // namespace tcc::ir
