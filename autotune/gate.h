// The tuner's gate compares all elements of a candidate's result with those of the default config,
// and both with the elements that the reference computed.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "autotune/bench.h"
#include "scheduler/region.h"

namespace tcc::autotune {

struct GateResult {
  bool pass = true;
  double error = 0;    // RMSE over its limit; 0 for equal bytes
  std::string reason;  // when it does not pass
};

// Returns the largest number of values that are combined into one element of the region's outputs.
// Sums in another order differ by about its square root in ulps.
double combined_values(const sched::Region& region);

// Returns the largest RMSE that an output may have, relative to its RMS:
//   8 ulp(dtype) + (16 + 8 sqrt(combined)) ulp(compute dtype)
// or with `output.rounded` instead of dtype where that is coarser. Two right results are each
// within the rule of ir/reference/compare.h; missing one of `combined` values exceeds this by far.
double gate_tolerance(const BenchOutput& output, double combined);
// Returns the largest RMSE that passes for an output of this RMS: that of gate_tolerance(), or a
// share of its noise where that is more (sums that cancel afterwards), as in
// ir/reference/compare.h.
double gate_limit(const BenchOutput& output, double combined, double rms);

// Returns whether both are NaN, or equal.
bool same_special(double a, double b);

// Compares one output, element by element. Floats pass when NaNs and infinities are in the same
// places and RMSE <= gate_limit(RMS(expected)) over the finite elements. Integers and bools are
// equal.
GateResult compare_with(std::span<const std::byte> expected, std::span<const std::byte> got,
                        const BenchOutput& output, double combined);

// Applies the same rule to output `number` of the job, over the elements that the reference
// computed. An output without such elements passes.
GateResult compare_with_reference(const BenchJob& job, size_t number,
                                  std::span<const std::byte> got);

}  // namespace tcc::autotune
