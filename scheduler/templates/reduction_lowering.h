// Lowers a reduction region: a group of threads walks a row, stage by stage, then writes.
#pragma once

#include "scheduler/config.h"
#include "scheduler/kernel.h"
#include "scheduler/templates/reduction_plan.h"

namespace tcc::sched {

// `config` is legal for the reduction template's space.
Kernel lower_reduction(const Region& region, const ReductionPlan& plan, const Config& config,
                       const Target& target);

// Returns the number of workgroups that share a row: spaces without clusters lack the parameter.
int64_t cluster_of(const Config& config);

// Returns whether the region is a row's maximum and the sum of exponentials relative to it. One
// pass computes both, unless the row is kept.
bool is_online(const Region& region, const ReductionPlan& plan);

}  // namespace tcc::sched
