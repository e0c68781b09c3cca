#pragma once

#include "ir/graph.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Long reductions of few rows become two: parts that fill the device and whose sums stay short
// enough to be exact to a few ulp, then a reduction of the parts. Deterministic: no atomics.
void split_reductions(ir::Graph& graph, const Target& target);

}  // namespace tcc::sched
