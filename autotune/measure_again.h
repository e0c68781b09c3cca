// Measures kernels' recorded configs side by side.
#pragma once

#include <span>
#include <string>

#include "autotune/records.h"
#include "autotune/tune.h"

namespace tcc::autotune {

// Measures the records of `tasks` anew in rounds over all of them, so that a drift of the device
// (clocks, another program) hits all alike. A time is the median of its rounds, and its interval
// covers the rounds' intervals. Kernels without a record, or whose config fails, are missing in the
// result. Throws Error(no_device) and Error(device) as tune_tasks() does.
RecordStore measure_again(std::span<const TuningTask> tasks, const RecordStore& records,
                          const sched::Target& target, const std::string& device,
                          const TuneOptions& options);

}  // namespace tcc::autotune
