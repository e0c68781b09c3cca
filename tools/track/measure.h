// Measures one case of a suite in this process, and makes its record.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "tools/track/run_record.h"
#include "tools/track/suite.h"

namespace tcc::tools {

struct MeasureOptions {
  std::shared_ptr<runtime::Device> device;  // null: kernels are compiled for `target`, nothing runs
  sched::Target target;
  std::vector<std::string> tuning;  // files and folders of records
  size_t blocks = 8;                // fresh contexts
  double seconds = 20;              // of blocks after the third, at most
  bool warm = false;                // kernels from the disk cache where they are there
  bool check = false;               // against the reference
  bool instructions = false;        // without a device: compiles kernels, and counts them
  double check_limit = 1e9;         // operations and bytes of one run; larger cases are not checked
};

// Returns the record of a graph or a kernel. Throws Error for one that does not compile or run.
TrackedCase measure_case(const TrackCase& one, const MeasureOptions& options);
// Measures a command, which needs no device. `cancelled` is called now and then.
std::vector<TrackedCase> measure_command(const TrackCase& one,
                                         const std::function<bool()>& cancelled = {});

// Starts the compiler of kernels, so that the first case does not pay for it.
void warm_up_compiler(const sched::Target& target);

// The fields that all records of a case have in common.
TrackedCase record_of(const TrackCase& one);
// Returns the median of the blocks' medians, and an interval that holds it with 95 % whatever the
// distribution (with fewer than 6 blocks, their range).
Measured summary_of(const std::vector<std::vector<double>>& blocks);

}  // namespace tcc::tools
