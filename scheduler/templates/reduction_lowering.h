// Lowers a reduction region: a group of threads walks a row, then writes.
#pragma once

#include "scheduler/config.h"
#include "scheduler/kernel.h"
#include "scheduler/target.h"
#include "scheduler/templates/reduction_plan.h"

namespace tcc::sched {

// `config` is legal for the reduction template's space.
Kernel lower_reduction(const Region& region, const ReductionPlan& plan, const Config& config,
                       const Target& target);

// The two algorithms: one walk of the row for each stage, and one walk for both stages of a plan
// that is `online`.
Kernel lower_in_stages(const Region& region, const ReductionPlan& plan, const Config& config,
                       const Target& target);
Kernel lower_online(const Region& region, const ReductionPlan& plan, const Config& config,
                    const Target& target);

// Returns the number of workgroups that share a row: spaces without clusters lack the parameter.
int64_t cluster_of(const Config& config);
// Returns how many vectors of a row a thread keeps, at most: of a row of open length the config's
// own number, which may be more than the longest row's, most_vectors().
int64_t kept_vectors(const ReductionPlan& plan, const Config& config);
int64_t most_vectors(const ReductionPlan& plan, const Config& config);

}  // namespace tcc::sched
