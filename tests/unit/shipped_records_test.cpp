// configs/tuned: how many kernels of the five models have a record of their own on each device that
// records are shipped for. Printed for each model; below a floor, records were lost: a change of
// keys without `tcc-tune migrate`, or a change of kernels that asks for another sweep
// (configs/tuned/sweep.sh). That sweep is due for all but bf16 on CUDA: attention, and products and
// convolutions on FMA units (whose records for CUDA are gone, and some of which are convolutions in
// parts and their sums now), have other kernels since the last one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "autotune/records.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/template.h"
#include "tests/source_dir.h"

namespace tcc::autotune {
namespace {

struct Shipped {
  const char* target;
  std::optional<DType> dtype;
  double floor;  // share of the kernels, all models together
  // Those of the device, where the choice of regions depends on it, with bandwidth and arithmetic
  // in proportion; 0: the profile's.
  int compute_units = 0;
};

struct Coverage {
  int kernels = 0, covered = 0;
  std::string missing;  // names of kernels
};

// The profiles differ from the devices in other numbers, which make a record stale, not unusable.
Coverage coverage_of(const ir::Graph& graph, const Shipped& shipped, const RecordStore& records) {
  sched::Target target = sched::target_by_name(shipped.target);
  if (shipped.compute_units > 0) {
    const double scale = static_cast<double>(shipped.compute_units) / target.compute_units;
    target.compute_units = shipped.compute_units;
    target.bandwidth *= scale;
    target.flops_f32 *= scale;
  }
  backends::CompileOptions options;
  options.dtype = shipped.dtype;
  const backends::Scheduled scheduled = backends::schedule(graph, target, options);
  Coverage result;
  for (const sched::ScheduledRegion& region : scheduled.regions) {
    const sched::Candidate& candidate = region.candidate();
    const sched::Tier tier = records.choose(candidate).tier;
    ++result.kernels;
    if (tier == sched::Tier::exact || tier == sched::Tier::stale)
      ++result.covered;
    else
      result.missing += "\n    " + std::string(candidate.kernel_template().name()) + " " +
                        candidate.region().name();
  }
  return result;
}

class ShippedRecords : public ::testing::TestWithParam<Shipped> {};

TEST_P(ShippedRecords, CoverTheModels) {
  const auto configs = testing::source_dir() / "configs";
  const RecordStore records = load_records(
      {configs / "tuned"}, [](const std::string& warning) { ADD_FAILURE() << warning; });
  Coverage all;
  for (const char* model :
       {"mlp", "transformer-encoder-layer", "bert-base", "resnet50", "vit-b16"}) {
    const ir::Graph graph = load_graph(configs / "models" / (std::string(model) + ".yaml"));
    const Coverage one = coverage_of(graph, GetParam(), records);
    std::printf("%s: %d of %d kernels have a record%s\n", model, one.covered, one.kernels,
                one.missing.c_str());
    all.kernels += one.kernels;
    all.covered += one.covered;
  }
  EXPECT_GE(all.covered, std::lround(GetParam().floor * all.kernels));
}

INSTANTIATE_TEST_SUITE_P(Devices, ShippedRecords,
                         ::testing::Values(Shipped{"cuda:sm_90a", DType::bf16, 0.9},
                                           Shipped{"cuda:sm_90a", DType::f32, 0.25},
                                           Shipped{"vulkan:nvidia", DType::bf16, 0.31, 132},
                                           Shipped{"vulkan:nvidia", DType::f32, 0.655, 132},
                                           Shipped{"vulkan:lavapipe", DType::f32, 0.87}),
                         [](const auto& test) {
                           std::string name = std::string(test.param.target) + "_" +
                                              std::string(tcc::name(*test.param.dtype));
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace tcc::autotune
