// Finds the best configs of kernels. Candidates are compiled in parallel and measured one at a time
// on each device, by worker processes.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autotune/bench.h"
#include "autotune/records.h"
#include "autotune/search.h"
#include "autotune/trial_log.h"
#include "autotune/tunable.h"
#include "backends/pipeline.h"
#include "scheduler/sized_choices.h"

namespace tcc::autotune {

// A kernel to tune: a region of a scheduled graph, which must outlive it.
struct TuningTask {
  const sched::Candidate* candidate = nullptr;
  RecordKey key;
  int launches = 1;  // regions with this key
  // For a region with open dims: the kernel for some of their sizes, and sizes to measure it at.
  std::shared_ptr<const sched::SizedKernel> sized = nullptr;
  size_t tasks_of_region = 1;  // this one and those for its other sizes
  RecordKey region = {};       // the key of the region with its open dims; `key` where none is open
};

// Returns the distinct kernels of the graphs, in the order of their first use. Regions with open
// dims have one for each of the sizes that are measured.
std::vector<TuningTask> tuning_tasks(std::span<const backends::Scheduled> graphs);

// The results of one kernel so far, or at the end.
struct KernelResult {
  LoggedTask task;
  std::string output;  // "f32[32, 512]": the first output's type
  std::string device;  // that measured it: "cuda:0"
  int launches = 1;
  int64_t space_size = 0;           // legal configs
  size_t planned = 0;               // trials proposed so far
  std::vector<LoggedTrial> trials;  // the default's, today's; those of a resumed log included
  size_t resumed = 0;               // of them, taken from the log
  double flops = 0, bytes = 0;      // of one launch
  sched::ConfigChoice today;        // what programs take from TuneOptions::in_use
  // The config that programs should use: `today`'s until another has won a duel against it.
  sched::Config best_config;
  // Seconds; 0: it could not be measured. After a duel, today's and the best's are those of the
  // duel.
  double default_seconds = 0, today_seconds = 0, best_seconds = 0;
  // The reason why today's config stays: "nothing is faster" or "no finals" (there was no time for
  // them). "": it does not stay, or the search is not over.
  std::string kept;
  // This record of the best is to be saved; there is none without finals, so that today's look-up
  // stays as it is.
  std::optional<Record> record;
  double wall_seconds = 0;
  double compile_seconds = 0;  // summed over cores
  std::string ended;           // why: "space exhausted", "bound reached", "trials", "budget", ...
  // The reason why the kernel cannot be tuned, or why tuning it ended early.
  std::string error;

  size_t count(Measurement::Status status) const;
};

// Called one at a time, from any thread.
struct TuneEvents {
  std::function<void(const KernelResult&)> started, trial, finished;
};

struct TuneOptions {
  // The records that programs are compiled with today. Their configs are measured first, and only a
  // config that beats them in a duel replaces them. Null: the templates' defaults are in use.
  const RecordStore* in_use = nullptr;
  SearchKind search = SearchKind::automatic;
  size_t trials = 64;  // measurements of each kernel, beside the default
  // The budget of all kernels together, which is shared in proportion to their time in one run; 0:
  // no limit.
  double budget_seconds = 0;
  int jobs = 0;  // threads that compile, at most one per core; 0: all cores
  uint64_t seed = 0;
  backends::CompileOptions compile;  // precision, cache
  bool workers = true;               // false: measure in this process (tests)
  // A simulation that measures in the place of the device and of the workers.
  std::function<std::unique_ptr<Bench>(const std::string& device, BenchJob job)> open_bench;
  WorkerOptions worker;
  std::filesystem::path log;  // appended to; "": no log
  bool resume = false;        // trials that the log holds are not measured again
  const std::atomic<bool>* interrupted = nullptr;  // asked between candidates
  std::function<void(const std::string&)> warn;    // damaged lines of the log
  TuneEvents events;
};

struct TuneResult {
  std::vector<KernelResult> kernels;  // in the tasks' order; those that were not begun are missing
  // The kernels' records, and records of today's configs for kernels without finals that could
  // otherwise look up another kernel's new record (autotune/look_up.cpp: nearest).
  RecordStore records;
  double wall_seconds = 0;
  double compile_seconds = 0;       // summed over cores
  double compile_wall_seconds = 0;  // while at least one candidate was being compiled
  int compile_threads = 0;
  int workers_replaced = 0;
  bool interrupted = false;
};

// Tunes the tasks on `devices` (of one kind, "cuda:0", "cuda:1"), each of which takes the next task
// when it is free. A candidate that does not compile, gives a wrong result, writes outside its
// outputs, hangs or crashes is logged as such and never recorded. Throws Error for what concerns
// all kernels: a device or log that cannot be opened.
TuneResult tune_tasks(std::span<const TuningTask> tasks, const sched::Target& target,
                      std::span<const std::string> devices, const TuneOptions& options);

// Does the same for tunables of any kind, such as users' own kernels. With `is_cpu`, as in the
// target, compiling and measuring alternate.
TuneResult tune_tunables(std::span<const Tunable> tunables, bool is_cpu,
                         std::span<const std::string> devices, const TuneOptions& options);

// Tunes all kernels of one graph on one device ("auto", "cuda:0", "vulkan:0").
TuneResult tune(const ir::Graph& graph, const std::string& device, const TuneOptions& options = {});

// Returns the time `seconds` from now; the clock's end where it does not reach so far.
std::chrono::steady_clock::time_point deadline_after(double seconds);

// Returns whether shard `index` of `count` tunes the kernel: by key, so that it is the same on
// every machine.
bool in_shard(const RecordKey& key, int index, int count);

// Returns the part of `tasks` that is in the shard.
std::vector<TuningTask> shard(std::span<const TuningTask> tasks, int index, int count);

}  // namespace tcc::autotune
