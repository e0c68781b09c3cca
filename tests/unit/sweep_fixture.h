// A sweep as tune_tasks() returns it, made by a formula: no device, the same numbers always.
#pragma once

#include <cmath>
#include <string>

#include "autotune/tune.h"
#include "tools/tune/report.h"

namespace tcc::testing {

// A trial of a kernel whose time depends on tile sizes, and not on `unroll`.
inline autotune::LoggedTrial tile_trial(int64_t tile_m, int64_t tile_n, int64_t unroll) {
  using Status = autotune::Measurement::Status;
  autotune::LoggedTrial trial;
  trial.config = {{"tile_m", tile_m}, {"tile_n", tile_n}, {"unroll", unroll}};
  trial.compile_seconds = 0.2;
  autotune::Measurement& result = trial.result;
  if (tile_m * tile_n > 128 * 64) {
    result.reason = "too much shared memory: 96 KiB of 48 KiB";
    return trial;  // refused
  }
  const double m = std::log2(static_cast<double>(tile_m) / 64),
               n = std::log2(static_cast<double>(tile_n) / 32);
  result.seconds = 40e-6 * (1 + 0.5 * m * m + 0.2 * n * n + 0.01 * static_cast<double>(unroll));
  result.low = result.seconds * 0.99;
  result.high = result.seconds * 1.02;
  result.samples = {result.low, result.seconds, result.high};
  result.status = result.seconds > 200e-6 ? Status::slow : Status::measured;
  return trial;
}

// A kernel after all 75 configs of its space; the default was measured first, again.
inline autotune::KernelResult tuned_kernel(const std::string& name = "matmul_gelu") {
  autotune::KernelResult kernel;
  kernel.task.name = name;
  kernel.task.key = {"contraction", 1, "0123456789abcdef" + name, "cuda:sm_90a"};
  kernel.task.operands = "f32[512, 784], f32[784, 512] -> f32[512, 512]";
  kernel.task.space.parameters = {{"tile_m", {16, 32, 64, 128, 256}, "rows of a tile"},
                                  {"tile_n", {16, 32, 64, 128, 256}, "columns of a tile"},
                                  {"unroll", {1, 2, 4}, "of the inner loop"}};
  kernel.task.default_config = {{"tile_m", 32}, {"tile_n", 64}, {"unroll", 1}};
  kernel.task.bound_seconds = 25e-6;
  kernel.output = "f32[512, 512]";
  kernel.device = "cuda:0";
  kernel.launches = 2;
  kernel.space_size = 75;
  kernel.trials.push_back(tile_trial(32, 64, 1));
  for (int64_t unroll : {1, 2, 4})
    for (int64_t m : {16, 32, 64, 128, 256})
      for (int64_t n : {256, 128, 64, 32, 16}) kernel.trials.push_back(tile_trial(m, n, unroll));
  kernel.planned = kernel.trials.size();
  kernel.default_seconds = kernel.today_seconds = kernel.trials[0].result.seconds;
  kernel.today = {kernel.task.default_config, sched::Tier::analytic};
  kernel.best_config = {{"tile_m", 64}, {"tile_n", 32}, {"unroll", 1}};
  kernel.best_seconds = tile_trial(64, 32, 1).result.seconds;
  kernel.record.emplace();
  kernel.record->best = kernel.best_config;
  kernel.wall_seconds = 12.5;
  kernel.compile_seconds = 15;
  kernel.ended = "space exhausted";
  return kernel;
}

// The sweep's one batch, of `launches` of each kernel.
inline tools::SweepReport sweep_report(const autotune::TuneResult& result,
                                       const std::string& title = "mlp.yaml", int launches = 2) {
  tools::SweepReport report;
  report.title = title;
  report.options = {{"GRAPH", title}, {"--budget", "20"}};
  report.batches.push_back({title, {}});
  for (const autotune::KernelResult& kernel : result.kernels)
    report.batches[0].launches[kernel.task.key] = launches;
  return report;
}

inline autotune::TuneResult tuned_sweep() {
  autotune::TuneResult result;
  result.kernels = {tuned_kernel(), tuned_kernel("softmax")};
  result.wall_seconds = 30;
  result.compile_seconds = 30;
  result.compile_wall_seconds = 20;
  result.compile_threads = 2;
  result.workers_replaced = 1;
  return result;
}

}  // namespace tcc::testing
