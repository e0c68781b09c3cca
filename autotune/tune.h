// Finding the best config of a kernel on a device: candidates are compiled in parallel and measured
// one at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autotune/records.h"
#include "backends/pipeline.h"
#include "runtime/device.h"

namespace tcc::autotune {

// A kernel to tune: a region of a scheduled graph, which must outlive it.
struct TuningTask {
  const sched::Region* region = nullptr;
  const sched::Template* kernel_template = nullptr;
  RecordKey key;
  int launches = 1;  // regions with this key
};

// The distinct kernels of the graphs, in the order of their first use; regions without elements
// have none.
std::vector<TuningTask> tuning_tasks(std::span<const backends::Scheduled> graphs,
                                     const sched::Target& target);

struct KernelResult {
  size_t planned = 0;  // candidates beside the default
  size_t tried = 0;    // of them; the counts below are parts of it
  size_t failed = 0, wrong = 0, slow = 0;
  std::string first_failure, first_wrong;  // "CONFIG: reason"
  sched::Config default_config;
  double default_seconds = 0, best_seconds = 0;  // 0: the default could not be measured
  std::optional<Record> record;                  // of the best, which may be the default
  // Why the kernel cannot be tuned, or why tuning it ended early; the device may be lost.
  std::string error;
  bool device_lost = false;
};

struct TuneOptions {
  size_t trials = 64;  // candidates of each kernel, beside the default
  int jobs = 0;        // threads that compile, at most one per core; 0: all cores
  uint64_t seed = 0;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  backends::CompileOptions compile;                   // precision, cache
  const std::atomic<bool>* interrupted = nullptr;     // asked between candidates
  std::function<void(const KernelResult&)> progress;  // after every candidate
};

// Measures the default config, then candidates until they, the time or the caller's patience are
// used up. A candidate that does not compile, gives a wrong result or writes outside its outputs is
// counted and never recorded. Throws nothing but InternalError.
KernelResult tune_kernel(const std::shared_ptr<runtime::Device>& device, const TuningTask& task,
                         const TuneOptions& options);

}  // namespace tcc::autotune
