// Measuring a compiled graph kernel by kernel, and the tables that say how far each is from what
// the device could do.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/program.h"
#include "support/json_writer.h"

namespace tcc::tools {

struct BenchResult {
  std::vector<double> replays;             // seconds of the whole graph
  std::vector<std::vector<double>> steps;  // seconds of each step, by repetition
};

// The launches of one kernel together.
struct KernelRow {
  const exec::KernelBinary* kernel = nullptr;
  int launches = 0;
  std::vector<double> samples = {};  // seconds of a launch, the mean of all of them, by repetition
  ir::Layers layers = {};            // of all of them
  double each() const;               // the samples' median; 0 without
  double total() const { return each() * launches; }
};
// In the order of the executable's kernels, which it points into.
std::vector<KernelRow> kernel_rows(const BenchResult& bench, const exec::Executable& executable);
// The least time that the device could need, by bandwidth and by arithmetic, over the time it took.
double roofline_share(const KernelRow& row, const exec::Target& target);

BenchResult measure(runtime::Context& context, const exec::Executable& executable, int repeat);

// kernel, region, time, GB/s, TFLOP/s, share of the roofline, tuning tier, layers: launches of one
// kernel are added up.
std::string bench_table(const BenchResult& bench, const exec::Executable& executable);
// Members of the open object, as docs/run-report.schema.json describes them.
void bench_json(JsonWriter& json, const BenchResult& bench, const exec::Executable& executable);

}  // namespace tcc::tools
