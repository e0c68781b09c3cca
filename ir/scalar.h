// The scalar functions that loop expressions are made of. A dialect table in backends/ spells each
// of them once per target; an op file uses them to state its element.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/dtype.h"

namespace tcc::ir {

// clang-format off
enum class Fn : uint8_t {
  // arithmetic; operands and result share one dtype
  add, sub, mul, div, floordiv, remainder, fmod, pow, minimum, maximum, neg, abs, sign, copysign, fma,
  // float only
  floor, ceil, round, trunc, sqrt, rsqrt, exp, exp2, expm1, log, log2, log10, log1p,
  sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc, sigmoid,
  normal_cdf,
  // exp of what is at most 0 in a sum whose largest term is 1: its error may grow with -x
  exp_term,
  // the larger of two numbers; of a NaN and a number either
  max_number,
  // to bool
  eq, ne, lt, le, gt, ge, isnan, isinf, isfinite,
  // bool
  logical_and, logical_or, logical_not,
  // integers (and bool for the bitwise ones)
  bitwise_and, bitwise_or, bitwise_xor, bitwise_not, shift_left, shift_right,
  // select(bool, a, b)
  select,
  // Philox 4x32-10: (i64 seed, i64 offset, i64 index) -> f32 in [0, 1) and f32 standard normal
  rand_uniform, rand_normal,
};
// clang-format on

struct FnInfo {
  Fn fn;
  std::string_view name;
  int arity;
  bool to_bool;  // the result is bool whatever the operands are
  // Issue slots of a GPU that one call takes, on f32 operands: the one table that every estimate of
  // work counts with (scheduler/work.h).
  double slots;
};

const FnInfo& info(Fn fn);
inline std::string_view name(Fn fn) { return info(fn).name; }

enum class ReduceKind : uint8_t { sum, prod, max, min, any, all, argmax, argmin };
std::string_view name(ReduceKind kind);
// The value that changes nothing: 0, 1, -inf or the lowest integer, ... (of the reduced value's
// dtype).
double identity(ReduceKind kind, DType dtype);
// The same for integers and bool, exact at the ends of i64 and u64 (whose bits it returns).
int64_t identity_int(ReduceKind kind, DType dtype);
inline bool is_arg(ReduceKind kind) {
  return kind == ReduceKind::argmax || kind == ReduceKind::argmin;
}

}  // namespace tcc::ir
