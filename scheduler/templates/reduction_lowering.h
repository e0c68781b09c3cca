// Lowers a reduction region: a group of threads walks a row, stage by stage, then writes.
#pragma once

#include "scheduler/config.h"
#include "scheduler/kernel.h"
#include "scheduler/templates/reduction_plan.h"

namespace tcc::sched {

// `config` is legal for the reduction template's space.
Kernel lower_reduction(const Region& region, const ReductionPlan& plan, const Config& config,
                       const Target& target);

// The workgroups that share a row: spaces without clusters lack the parameter.
int64_t cluster_of(const Config& config);

// Whether the region is a row's maximum and the sum of exponentials below it: one pass takes both,
// unless the row is kept.
bool is_online(const Region& region, const ReductionPlan& plan);

}  // namespace tcc::sched
