// The scan template's kernels.
#pragma once

#include "scheduler/config.h"
#include "scheduler/kernel.h"
#include "scheduler/templates/scan_plan.h"

namespace tcc::sched {

Kernel lower_scan(const Region& region, const ScanPlan& plan, const Config& config);

}  // namespace tcc::sched
