// Ops of the same form share these cases for the tests that loop over the op table.
#pragma once

#include <vector>

#include "ir/op.h"

namespace tcc::ir::ops {

// One operand: ranks 0 to 4, empty and size-1 dims, f32 mostly; floats in [lo, hi).
std::vector<OpSample> unary_samples(double lo = -2, double hi = 2);
// One operand of each of some integer types, in [int_lo, int_hi).
std::vector<OpSample> unary_int_samples(int64_t int_lo = 0, int64_t int_hi = 8);
// Two operands that broadcast: ranks 0 to 4, empty and size-1 dims, mixed float types; floats in
// [lo, hi).
std::vector<OpSample> binary_samples(double lo = -2, double hi = 2);
// Two operands of integer types, some mixed, in [int_lo, int_hi).
std::vector<OpSample> binary_int_samples(int64_t int_lo = 0, int64_t int_hi = 8);
// An integer with a float operand, both ways.
std::vector<OpSample> int_float_samples();
// One and two bool operands.
OpSample unary_bool_sample();
OpSample binary_bool_sample();

std::vector<OpSample> operator+(std::vector<OpSample> a, std::vector<OpSample> b);
// The samples, each with `attrs`.
std::vector<OpSample> with_attrs(std::vector<OpSample> samples, const Attrs& attrs);

}  // namespace tcc::ir::ops
