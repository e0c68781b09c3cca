// A sweep searches one kernel's best config. tune() runs one for every kernel, on any device, in
// one turn or, where a budget is shared, in several.
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

// The sweeps of one tune() share these resources. Members that several threads use are thread-safe.
struct SweepResources {
  const TuneOptions& options;
  bool device_is_cpu = false;  // compile and measure alternate
  tbb::task_arena& compile_arena;
  Meter& compiling;
  TrialLog* log = nullptr;  // null: none
  std::mutex& log_mutex;
  const TrialHistory& history;  // of a resumed log
  std::mutex& events_mutex;
};

// A sweep goes on with this device, until this deadline.
struct SweepTurn {
  std::mutex& device_mutex;  // one measurement at a time
  std::string device;        // "cuda:0"
  std::function<std::unique_ptr<Bench>(BenchJob)> open_bench;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// Not thread-safe. Its functions throw nothing but InternalError: what goes wrong is in the result.
class Sweep {
 public:
  virtual ~Sweep() = default;

  // Measures the default config and today's.
  virtual void prepare(const SweepTurn& turn) = 0;
  // Searches until the deadline, which leaves time for the finals, and runs those. It prepares a
  // kernel that was not prepared, and goes on where an earlier turn ended.
  virtual void run(const SweepTurn& turn) = 0;
  // Ends a prepared sweep that gets no turn for lack of time: the config in use stays.
  virtual void leave() = 0;
  // Frees what it holds on the device until its next turn.
  virtual void close() = 0;

  virtual bool is_prepared() const = 0;
  // Returns whether nothing is left to do, or something went wrong.
  virtual bool is_over() const = 0;
  // Returns the seconds that a few trials and a duel of a prepared kernel take: a shorter turn
  // finds nothing.
  virtual double least_seconds() const = 0;
  virtual const KernelResult& result() const = 0;
};

// `tunable` and the parts of `resources` must outlive it.
std::unique_ptr<Sweep> make_sweep(const Tunable& tunable, const SweepResources& resources);

}  // namespace tcc::autotune
