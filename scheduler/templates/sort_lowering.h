// The sort template's kernels.
#pragma once

#include <span>

#include "scheduler/config.h"
#include "scheduler/kernel_sequence.h"
#include "scheduler/templates/sort_plan.h"

namespace tcc::sched {

// Config: `threads` of a workgroup, `items` of a thread, and `row_threads` that share a run (of
// kernels that do not merge). Every run must fit row_threads * items. A kernel for each step.
KernelSequence lower_sort(const Region& region, std::span<const SortPlan> steps,
                          const Config& config, const Target& target);

}  // namespace tcc::sched
