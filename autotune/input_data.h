// Input buffers of benchmarks hold random elements that are the same on every machine.
#pragma once

#include "autotune/bench.h"
#include "autotune/expr_program.h"

namespace tcc::autotune {

// Returns the pattern that input_data() repeats, as numbers that the input's dtype holds.
ExprBuffer input_pattern(const BenchJob& job, size_t i);

}  // namespace tcc::autotune
