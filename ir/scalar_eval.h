// Evaluates the scalar functions on numbers, for constant folding and the tuner's reference
// samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/scalar.h"

namespace tcc::ir {

// A float or an integer; its dtype, which is kept elsewhere, says which.
struct Number {
  double number = 0;    // floats
  int64_t integer = 0;  // integers and bool, u64 as its bits
};

// Returns fn(args...) of operands of dtype `operand` (a compute dtype). The result is neither
// rounded nor wrapped; the caller does that. a / 0 = 0 and a % 0 = a. It returns nothing where
// neither IEEE 754 nor tcc's rules determine the device's result to the bit (floor division of
// floats, pow of integers), and for functions of several dtypes (select, random numbers).
std::optional<Number> evaluate_call(Fn fn, DType operand, std::span<const Number> args);

// Converts `value` to `to`, neither rounded nor wrapped: floats to integers truncate and saturate,
// NaN gives 0; to bool: != 0.
Number evaluate_cast(Number value, DType from, DType to);

}  // namespace tcc::ir
