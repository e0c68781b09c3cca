// The tuner as a library: measures configs of a graph's kernels on a device and saves the best
// where compile() finds them. docs/tuning.md; `tcc-tune` is a shell over it.
//
//   tcc::TuneReport report = tcc::tune(graph, "cuda:0", {.trials = 100, .output = "tuned"});
//   tcc::CompiledGraph compiled = tcc::compile(graph, "cuda:0", {.tuning = {"tuned"}});
#pragma once

#include "tcc/tcc.hpp"

#if __cplusplus >= 202002L  // tcc/tcc.hpp says what is missing

#include <atomic>

#pragma GCC visibility push(default)
namespace tcc {

// One distinct kernel of the graph, so far or at the end.
struct TunedKernel {
  std::string region;           // the ops that are fused in it
  std::string kernel_template;  // what it is made from
  std::string output;           // type of its first output, "f32[32, 512]"
  std::string best_config;      // "block_m=64 ..."
  double default_seconds = 0;   // of one launch with the analytic default; 0: not measured
  double today_seconds = 0;     // with the records that are in use
  double best_seconds = 0;      // from now on; not more than today's
  // Why today's config stays: "nothing is faster", "no finals" (no time was left for them); "".
  std::string kept;
  int launches = 0;             // per run of the graph
  std::int64_t space_size = 0;  // legal configs
  std::int64_t trials = 0;      // measured, or refused; the default included
  std::int64_t rejected = 0;    // of them: wrong, hung, crashed or refused
  std::string error;            // why it could not be tuned; "" otherwise
};

struct TuneOptions {
  // How the graph is compiled: records serve compilations with the same options. Its `tuning` names
  // records that programs are compiled with, beside the default ones and those of `output`: only
  // what beats them is saved. Its `cancelled` is asked after each trial and every few milliseconds,
  // from any thread: true ends the tuning as `interrupted` does. Its `progress` is not told.
  CompileOptions compile{};
  std::string search = "auto";  // "auto", "exhaustive", "random", "staged" or "evolutionary"
  std::size_t trials = 64;      // measurements of each kernel, beside the default
  double budget_seconds = 0;    // for all kernels together; 0: no limit
  int jobs = 0;                 // threads that compile; 0: one per core
  std::uint64_t seed = 0;
  std::filesystem::path output{};  // folder of the tuning files; "": nothing is saved
  std::filesystem::path log{};     // the trial log, appended to; "": none
  bool resume = false;             // what the log holds is not measured again
  // A worker process (tcc-worker) measures, so that a candidate that hangs or crashes costs itself
  // alone. false: this process measures.
  bool isolate = true;
  const std::atomic<bool>* interrupted = nullptr;  // asked between candidates; what is known by then is saved
  // Told after every trial, from any thread, one call at a time.
  std::function<void(const TunedKernel&)> progress{};
};

struct TuneReport {
  std::vector<TunedKernel> kernels;            // in the order of their first use
  std::vector<std::filesystem::path> written;  // tuning files
  double seconds = 0;
  bool interrupted = false;
};

// Throws Error: bad_input for the graph, an option, or a folder that cannot be written; no_device;
// device where the device or the worker cannot be used at all. What goes wrong with one kernel is
// in its entry.
TuneReport tune(const Graph& graph, std::string_view device, const TuneOptions& options = {});

}  // namespace tcc
#pragma GCC visibility pop
#endif
