// Computes the expected outputs of a user's kernel from a graph, on the CPU in f64 by the ops'
// reference semantics.
#pragma once

#include "autotune/bench.h"
#include "autotune/user_kernel/bound_kernel.h"

namespace tcc::autotune {

// Gives `job` samples of the outputs of the graph that `kernel`'s check names, for the inputs that
// it draws, and their noise: all elements of small outputs, seeded ones of large ones. Inputs go by
// name, outputs by order; the graph's dims take the kernel's values by name. Throws
// Error(bad_input) naming the check's line when the graph does not fit the kernel, or computes too
// much to be evaluated on a CPU.
void add_graph_reference(const BoundKernel& kernel, BenchJob& job);

}  // namespace tcc::autotune
