// Measures a compiled graph kernel by kernel, and prints tables that compare each kernel with the
// device's roofline.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/program.h"
#include "support/json_writer.h"

namespace tcc::tools {

struct BenchResult {
  std::vector<double> replays;             // seconds of the whole graph
  std::vector<std::vector<double>> steps;  // seconds of each step, by repetition
  // How often each step runs, and its work; empty: at usual sizes.
  std::vector<int> counts;
  std::vector<runtime::Context::Work> work;
};

// The launches of one kernel together.
struct KernelRow {
  const exec::KernelBinary* kernel = nullptr;
  int launches = 0;
  std::vector<double> samples = {};  // seconds of a launch, the mean of all of them, by repetition
  ir::Layers layers = {};            // of all of them
  std::string sizes = {};            // that have them (exec::sizes_text); "": all sizes
  double flops = 0, bytes = 0;       // of a launch, the mean of all of them
  double each() const;               // the samples' median; 0 without
  double total() const { return each() * launches; }
};
// Returns those that run at the sizes at hand, in the order of the executable's kernels, to which
// they point.
std::vector<KernelRow> kernel_rows(const BenchResult& bench, const exec::Executable& executable);
// Returns the least time that the device could need, by bandwidth and by arithmetic, over the
// measured time.
double roofline_share(const KernelRow& row, const exec::Target& target);

BenchResult measure(runtime::Context& context, const exec::Executable& executable, int repeat);

// The columns are kernel, region, time, GB/s, TFLOP/s, share of the roofline, tuning tier and
// layers. Launches of one kernel are added up.
std::string bench_table(const BenchResult& bench, const exec::Executable& executable);
// Writes members of the open object, as docs/run-report.schema.json describes them.
void bench_json(JsonWriter& json, const BenchResult& bench, const exec::Executable& executable);

// Says what runs where each step runs so often: "3 launches of 2 kernels", "... (5 for all sizes)".
std::string launches_text(const exec::Executable& executable, std::span<const int> step_counts);
// The kernels of regions that have several, by the sizes that they are for: which choice ran, and
// the kernels of all. "" where sizes choose nothing.
std::string sizes_table(const exec::Executable& executable, std::span<const int> step_counts);
// The same, and how many launches ran, as members of the open object.
void launches_json(JsonWriter& json, const exec::Executable& executable,
                   std::span<const int> step_counts);

}  // namespace tcc::tools
