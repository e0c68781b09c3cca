// Measuring a compiled graph kernel by kernel, and the tables that say how far each is from what
// the device could do.
#pragma once

#include <string>
#include <vector>

#include "runtime/program.h"
#include "support/json_writer.h"

namespace tcc::tools {

struct BenchResult {
  std::vector<double> replays;                // seconds of the whole graph
  std::vector<std::vector<double>> launches;  // seconds of each launch, by repetition
};

BenchResult measure(runtime::Context& context, const sched::Executable& executable, int repeat);

// kernel, region, time, GB/s, TFLOP/s, share of the roofline, tuning tier, layers: launches of one
// kernel are added up.
std::string bench_table(const BenchResult& bench, const sched::Executable& executable);
// Members of the open object, as docs/run-report.schema.json describes them.
void bench_json(JsonWriter& json, const BenchResult& bench, const sched::Executable& executable);

}  // namespace tcc::tools
