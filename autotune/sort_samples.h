// Elements of a sorting region's outputs, computed on the CPU.
#pragma once

#include <span>
#include <vector>

#include "autotune/expr_program.h"
#include "scheduler/region.h"

namespace tcc::autotune {

// An element in f64, with every step rounded, and with noise in the place of rounding.
struct SampledElement {
  ir::Number ideal, rounded, noisy;
};

// Returns the samples of `output` at `elements`, as many of the first as about `most_work`
// evaluated subexpressions allow, but at least one. Throws Error(bad_input) for a region that
// merges sorted runs: the data that kernels are measured on is in no order.
std::vector<SampledElement> sort_samples(const sched::Region& region, const ir::Value* output,
                                         std::span<const ExprBuffer> buffers,
                                         std::span<const std::vector<int64_t>> elements,
                                         int64_t most_work);

}  // namespace tcc::autotune
