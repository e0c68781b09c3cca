// The scalar functions on numbers, where tcc itself computes them: constant folding and the tuner's
// reference samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/scalar.h"

namespace tcc::ir {

// A number of either kind; which one, its dtype tells.
struct Number {
  double number = 0;    // floats
  int64_t integer = 0;  // integers and bool, u64 as its bits
};

// fn(args...) of operands of dtype `operand` (a compute dtype), neither rounded nor wrapped: that
// is the caller's business. a / 0 = 0 and a % 0 = a. Nothing where the device's result is not
// determined to the bit by IEEE 754 and a table cannot say better (floor division of floats, pow of
// integers), and for what is no function of one dtype (select, random numbers).
std::optional<Number> evaluate_call(Fn fn, DType operand, std::span<const Number> args);

// `value` as `to`, neither rounded nor wrapped: floats to integers truncate and saturate, NaN gives
// 0; to bool: != 0.
Number evaluate_cast(Number value, DType from, DType to);

}  // namespace tcc::ir
