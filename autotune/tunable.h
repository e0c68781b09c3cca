// A tunable is a kernel of a graph or of a user, as plain data and a few functions. The search, the
// measurement, the log and the records use nothing else of a kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autotune/bench.h"
#include "autotune/records.h"
#include "backends/pipeline.h"
#include "executable/executable.h"
#include "scheduler/config.h"
#include "scheduler/target.h"

namespace tcc::autotune {

struct TuningTask;  // autotune/tune.h

struct Tunable {
  RecordKey key;
  std::string name;      // for people: "matmul_add_gelu"
  std::string operands;  // "f32[32, 784], f32[512, 784] -> f32[32, 512]"
  std::string output;    // the first output's type, "f32[32, 512]"
  // The key of the kernel without its sizes (32 digits), and the sizes, as in a Record.
  std::string family;
  std::vector<int64_t> extents;
  Environment environment;
  sched::ConfigSpace space;
  sched::Config default_config;  // legal
  int launches = 1;              // of equal kernels in what is tuned
  std::string sizes;            // of open dims that it is measured at, "B=2 S=23"; "": none is open
  double share = 1;             // of TuneOptions::trials, which a region's sizes share
  double flops = 0, bytes = 0;  // of one launch; 0: unknown
  double bound_seconds = 0;     // the roofline bound: no config can be faster; 0: unknown

  // The functions own what they need of this object's making, except where tunable_of says
  // otherwise. All but `job` are thread-safe.

  // Compiles a legal config. Throws Error(device) when the compiler or the target refuses it.
  std::function<exec::StandaloneSequence(const sched::Config&)> compile;
  // Predicted seconds of a legal config, for ranking; empty: nothing is known.
  std::function<double(const sched::Config&)> estimate;
  // Makes the inputs that the kernels compute on, and the reference samples of their outputs. This
  // is CPU work that is done once. Throws Error(bad_input) when there is no reference for the data.
  std::function<BenchJob(uint64_t seed)> job;
  // Returns the config of programs that are compiled with these records. Empty: they use the
  // default.
  std::function<sched::ConfigChoice(const RecordStore&)> choose;
  // A kernel of the same arguments whose outputs are the expected ones: Bench::baseline takes it,
  // and the default config is measured like any candidate. Empty: the default config's outputs are
  // expected.
  std::function<exec::StandaloneSequence()> expected;
};

// A region of a scheduled graph, which must outlive the result. `options.configs` is not used.
Tunable tunable_of(const TuningTask& task, const backends::CompileOptions& options);

}  // namespace tcc::autotune
