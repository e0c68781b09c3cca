// Measuring a compiled graph kernel by kernel, and the tables that say how far each is from what
// the device could do.
#pragma once

#include <string>
#include <vector>

#include "runtime/program.h"
#include "support/json_writer.h"

namespace tcc::tools {

struct BenchResult {
  double replay_seconds = 0;           // median of whole replays
  std::vector<double> launch_seconds;  // median per launch
};

BenchResult measure(runtime::Context& context, const sched::Executable& executable, int repeat);

// kernel, region, time, GB/s, TFLOP/s, share of the roofline, tuning tier: launches of one kernel
// are added up.
std::string bench_table(const BenchResult& bench, const sched::Executable& executable);
void bench_json(JsonWriter& json, const BenchResult& bench, const sched::Executable& executable);

}  // namespace tcc::tools
