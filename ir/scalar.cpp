#include "ir/scalar.h"

#include <array>
#include <limits>

#include "support/error.h"

namespace tcc::ir {

namespace {

constexpr bool kToBool = true;
// A library function is a polynomial and the reduction of its argument, a division a reciprocal and
// its refinement. A random number is ten rounds of Philox, a normal one a logarithm and a cosine
// more.
constexpr double kLibrary = 20, kUniform = 100, kNormal = 140;

constexpr FnInfo plain(Fn fn, std::string_view name, int arity) {
  return {fn, name, arity, false, 1};
}
constexpr FnInfo longer(Fn fn, std::string_view name, int arity, double slots = kLibrary) {
  return {fn, name, arity, false, slots};
}
constexpr FnInfo test(Fn fn, std::string_view name, int arity) {
  return {fn, name, arity, kToBool, 1};
}

// In the order of the enumeration, so that info() is an index.
constexpr std::array kFns = {
    plain(Fn::add, "add", 2),
    plain(Fn::sub, "sub", 2),
    plain(Fn::mul, "mul", 2),
    longer(Fn::div, "div", 2),
    longer(Fn::floordiv, "floordiv", 2),
    longer(Fn::remainder, "remainder", 2),
    longer(Fn::fmod, "fmod", 2),
    longer(Fn::pow, "pow", 2),
    plain(Fn::minimum, "minimum", 2),
    plain(Fn::maximum, "maximum", 2),
    plain(Fn::neg, "neg", 1),
    plain(Fn::abs, "abs", 1),
    plain(Fn::sign, "sign", 1),
    plain(Fn::copysign, "copysign", 2),
    plain(Fn::fma, "fma", 3),
    plain(Fn::floor, "floor", 1),
    plain(Fn::ceil, "ceil", 1),
    plain(Fn::round, "round", 1),
    plain(Fn::trunc, "trunc", 1),
    longer(Fn::sqrt, "sqrt", 1),
    longer(Fn::rsqrt, "rsqrt", 1),
    longer(Fn::exp, "exp", 1),
    longer(Fn::exp2, "exp2", 1),
    longer(Fn::expm1, "expm1", 1),
    longer(Fn::log, "log", 1),
    longer(Fn::log2, "log2", 1),
    longer(Fn::log10, "log10", 1),
    longer(Fn::log1p, "log1p", 1),
    longer(Fn::sin, "sin", 1),
    longer(Fn::cos, "cos", 1),
    longer(Fn::tan, "tan", 1),
    longer(Fn::asin, "asin", 1),
    longer(Fn::acos, "acos", 1),
    longer(Fn::atan, "atan", 1),
    longer(Fn::atan2, "atan2", 2),
    longer(Fn::sinh, "sinh", 1),
    longer(Fn::cosh, "cosh", 1),
    longer(Fn::tanh, "tanh", 1),
    longer(Fn::asinh, "asinh", 1),
    longer(Fn::acosh, "acosh", 1),
    longer(Fn::atanh, "atanh", 1),
    longer(Fn::erf, "erf", 1),
    longer(Fn::erfc, "erfc", 1),
    longer(Fn::sigmoid, "sigmoid", 1),
    longer(Fn::normal_cdf, "normal_cdf", 1),
    longer(Fn::exp_term, "exp_term", 1),
    plain(Fn::max_number, "max_number", 2),
    test(Fn::eq, "eq", 2),
    test(Fn::ne, "ne", 2),
    test(Fn::lt, "lt", 2),
    test(Fn::le, "le", 2),
    test(Fn::gt, "gt", 2),
    test(Fn::ge, "ge", 2),
    test(Fn::isnan, "isnan", 1),
    test(Fn::isinf, "isinf", 1),
    test(Fn::isfinite, "isfinite", 1),
    test(Fn::logical_and, "logical_and", 2),
    test(Fn::logical_or, "logical_or", 2),
    test(Fn::logical_not, "logical_not", 1),
    plain(Fn::bitwise_and, "bitwise_and", 2),
    plain(Fn::bitwise_or, "bitwise_or", 2),
    plain(Fn::bitwise_xor, "bitwise_xor", 2),
    plain(Fn::bitwise_not, "bitwise_not", 1),
    plain(Fn::shift_left, "shift_left", 2),
    plain(Fn::shift_right, "shift_right", 2),
    plain(Fn::select, "select", 3),
    longer(Fn::rand_uniform, "rand_uniform", 3, kUniform),
    longer(Fn::rand_normal, "rand_normal", 3, kNormal),
};

constexpr bool in_enumeration_order() {
  for (size_t i = 0; i < kFns.size(); ++i)
    if (kFns[i].fn != static_cast<Fn>(i)) return false;
  return kFns.size() == static_cast<size_t>(Fn::rand_normal) + 1;
}
static_assert(in_enumeration_order());

constexpr std::array<std::string_view, 8> kReduceNames = {"sum", "prod", "max",    "min",
                                                          "any", "all",  "argmax", "argmin"};
static_assert(kReduceNames.size() == static_cast<size_t>(ReduceKind::argmin) + 1);

int64_t lowest(DType dtype) {
  if (!info(dtype).is_signed) return 0;
  return -1 - (std::numeric_limits<int64_t>::max() >> (64 - 8 * size_bytes(dtype)));
}

int64_t highest(DType dtype) {
  if (dtype == DType::boolean) return 1;
  const int shift = 64 - 8 * size_bytes(dtype);
  if (info(dtype).is_signed) return std::numeric_limits<int64_t>::max() >> shift;
  return static_cast<int64_t>(std::numeric_limits<uint64_t>::max() >> shift);  // u64: its bits
}

}  // namespace

const FnInfo& info(Fn fn) {
  const size_t index = static_cast<size_t>(fn);
  TCC_CHECK(index < kFns.size(), "function ", index);
  return kFns[index];
}

std::string_view name(ReduceKind kind) {
  const size_t index = static_cast<size_t>(kind);
  TCC_CHECK(index < kReduceNames.size(), "reduction ", index);
  return kReduceNames[index];
}

double identity(ReduceKind kind, DType dtype) {
  if (!is_float(dtype)) {
    const int64_t value = identity_int(kind, dtype);
    return dtype == DType::u64 ? static_cast<double>(static_cast<uint64_t>(value))
                               : static_cast<double>(value);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::any: return 0;
    case ReduceKind::prod:
    case ReduceKind::all: return 1;
    case ReduceKind::max:
    case ReduceKind::argmax: return -infinity;
    case ReduceKind::min:
    case ReduceKind::argmin: return infinity;
  }
  throw InternalError("unknown reduction");
}

int64_t identity_int(ReduceKind kind, DType dtype) {
  TCC_CHECK(!is_float(dtype), "identity_int of ", name(dtype));
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::any: return 0;
    case ReduceKind::prod:
    case ReduceKind::all: return 1;
    case ReduceKind::max:
    case ReduceKind::argmax: return lowest(dtype);
    case ReduceKind::min:
    case ReduceKind::argmin: return highest(dtype);
  }
  throw InternalError("unknown reduction");
}

}  // namespace tcc::ir
