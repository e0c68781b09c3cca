// Turns a sweep's measurements into a tuning record.
#pragma once

#include "autotune/tunable.h"
#include "autotune/tune.h"

namespace tcc::autotune {

// Returns the last full measurement of a config, else its last quick one; null: it was not
// measured.
const Measurement* measurement_of(const KernelResult& result, const sched::Config& config);

// Makes a record of `config`, with this measurement.
Record record_of(const Tunable& tunable, const KernelResult& result, const sched::Config& config,
                 const Measurement& measured, const std::string& policy);

// Makes the records of the results. A measured kernel without finals could then look up another
// kernel's new record; such a kernel gets a record of its own, with today's config.
RecordStore records_of(std::span<const Tunable> tunables,
                       const std::vector<const KernelResult*>& results, const RecordStore* in_use);

}  // namespace tcc::autotune
