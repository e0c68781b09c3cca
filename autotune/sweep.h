// The search for one kernel's best config: what tune() runs for every kernel, on any device.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include <oneapi/tbb/task_arena.h>

#include "autotune/meter.h"
#include "autotune/tunable.h"
#include "autotune/tune.h"

namespace tcc::autotune {

// What the sweeps of one tune() share. Thread-safe where several use it.
struct SweepContext {
  const TuneOptions& options;
  bool device_is_cpu = false;  // compile and measure alternate
  tbb::task_arena& compile_arena;
  Meter& compiling;
  TrialLog* log = nullptr;  // null: none
  std::mutex& log_mutex;
  const TrialHistory& history;  // of a resumed log
  std::mutex& events_mutex;
  std::mutex& device_mutex;  // of this device: one measurement at a time
  std::string device;        // "cuda:0"
  std::function<std::unique_ptr<Bench>(BenchJob)> open_bench;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // What the search found before its share of a budget cut it off; null: nothing.
  const KernelResult* before = nullptr;
};

// Throws nothing but InternalError: what goes wrong is in the result.
KernelResult sweep(const Tunable& tunable, const SweepContext& context);

}  // namespace tcc::autotune
