// The tuner's gate: a candidate's result must agree with that of the template's default config,
// which the tests hold against the reference.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ir/dtype.h"
#include "scheduler/region.h"

namespace tcc::autotune {

struct GateResult {
  bool pass = true;
  double error = 0;    // RMSE over its limit; 0 for equal bytes
  std::string reason;  // when it does not pass
};

// How many values are combined into one element of the region's outputs, at most: sums in another
// order differ by about its square root in ulps.
double combined_values(const sched::Region& region);

// Compares one output, element by element. Floats pass when NaNs and infinities are in the same
// places and
//   RMSE <= (8 ulp(dtype) + (16 + 8 sqrt(combined)) ulp(compute dtype)) RMS(expected)
// over the finite elements: two right results are each within the rule of ir/reference/compare.h,
// and missing one of `combined` values exceeds this limit by far. Integers and bools are equal.
GateResult compare_with(std::span<const std::byte> expected, std::span<const std::byte> got,
                        DType dtype, double combined);

}  // namespace tcc::autotune
