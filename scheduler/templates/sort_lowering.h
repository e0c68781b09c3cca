// The sort template's kernels.
#pragma once

#include "scheduler/config.h"
#include "scheduler/kernel.h"
#include "scheduler/templates/sort_plan.h"

namespace tcc::sched {

// Config: `threads` of a workgroup, `items` of a thread, and `row_threads` that share a run (of
// kernels that do not merge). Every run must fit row_threads * items.
Kernel lower_sort(const Region& region, const SortPlan& plan, const Config& config,
                  const Target& target);

}  // namespace tcc::sched
