// The tuner as a library measures configs of a graph's kernels on a device and saves the best where
// compile() finds them. docs/tuning.md describes it; `tcc-tune` is a program around it.
//
//   tcc::TuneReport report = tcc::tune(graph, "cuda:0", {.trials = 100, .output = "tuned"});
//   tcc::CompiledGraph compiled = tcc::compile(graph, "cuda:0", {.tuning = {"tuned"}});
#pragma once

#include "tcc/tcc.hpp"

#if __cplusplus >= 202002L  // tcc/tcc.hpp says what is missing

#include <atomic>

#pragma GCC visibility push(default)
namespace tcc {

// The results of one distinct kernel of the graph, so far or at the end. Seconds are of one launch.
struct TunedKernel {
  std::string region;           // the ops that are fused in it
  std::string kernel_template;  // the template that it is made from
  std::string output;           // type of its first output, "f32[32, 512]"
  std::string best_config;      // "block_m=64 ..."
  double default_seconds = 0;   // with the analytic default config; 0: not measured
  double today_seconds = 0;     // with the records that are in use
  double best_seconds = 0;      // with best_config; not more than today_seconds
  // The reason why the config in use stays: "nothing is faster" or "no finals" (no time was left
  // for them); "" where it does not.
  std::string kept;
  int launches = 0;             // per run of the graph
  std::int64_t space_size = 0;  // legal configs
  std::int64_t trials = 0;      // configs measured or refused, with the default
  std::int64_t rejected = 0;    // trials that were wrong, hung, crashed or refused
  std::string error;            // why it could not be tuned; "" otherwise
};

struct TuneOptions {
  // The options that the graph is compiled with: records serve compilations with the same options.
  // `compile.tuning` names the records in use, beside the default ones and those of `output`: only
  // configs that beat them are saved. `compile.cancelled` is called after each trial and every few
  // milliseconds, from any thread; true ends the tuning as `interrupted` does. `compile.progress`
  // is not called.
  CompileOptions compile{};
  std::string search = "auto";  // "auto", "exhaustive", "random", "staged" or "evolutionary"
  std::size_t trials = 64;      // measurements of each kernel, beside the default
  double budget_seconds = 0;    // for all kernels together; 0: no limit
  int jobs = 0;                 // threads that compile; 0: one per core
  std::uint64_t seed = 0;
  std::filesystem::path output{};  // folder of the tuning files; "": nothing is saved
  std::filesystem::path log{};     // the trial log, appended to; "": none
  bool resume = false;             // what the log holds is not measured again
  // A worker process (tcc-worker) measures, so that a candidate that hangs or crashes ends the
  // worker alone. false: this process measures.
  bool isolate = true;
  // Read between candidates. true ends the tuning; the records that are known by then are saved.
  const std::atomic<bool>* interrupted = nullptr;
  // Called after every trial, from any thread, one call at a time.
  std::function<void(const TunedKernel&)> progress{};
};

struct TuneReport {
  std::vector<TunedKernel> kernels;            // in the order of their first use
  std::vector<std::filesystem::path> written;  // tuning files
  double seconds = 0;
  bool interrupted = false;
};

// Tunes the kernels of a graph. Throws Error(bad_input) for a mistake in the graph or an option and
// for a folder that cannot be written, Error(no_device), and Error(device) where the device or the
// worker cannot be used at all. Errors of one kernel are in TunedKernel::error.
TuneReport tune(const Graph& graph, std::string_view device, const TuneOptions& options = {});

}  // namespace tcc
#pragma GCC visibility pop
#endif
