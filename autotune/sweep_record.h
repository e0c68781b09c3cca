// Turns a sweep's measurements into a tuning record.
#pragma once

#include "autotune/tunable.h"
#include "autotune/tune.h"

namespace tcc::autotune {

// The last full measurement of a config, else its last quick one; null: it was not measured.
const Measurement* measurement_of(const KernelResult& result, const sched::Config& config);

// A record of `config`, which was measured so.
Record record_of(const Tunable& tunable, const KernelResult& result, const sched::Config& config,
                 const Measurement& measured, const std::string& policy);

// The records of the results; and today's configs, pinned by records of their own, of measured
// kernels without finals that would look up another's once those records are there.
RecordStore records_of(std::span<const Tunable> tunables,
                       const std::vector<const KernelResult*>& results, const RecordStore* in_use);

}  // namespace tcc::autotune
