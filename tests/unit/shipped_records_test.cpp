// configs/tuned: every kernel of the five models has a record of its own for each device that
// records are shipped for.
#include <gtest/gtest.h>

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
  int compute_units =
      0;  // of the device, where the choice of regions depends on it; 0: the profile's
};

// The profiles differ from the devices in other numbers, which make a record stale, not unusable.
TEST(ShippedRecords, CoverTheModels) {
  const auto configs = testing::source_dir() / "configs";
  const RecordStore records = load_records(
      {configs / "tuned"}, [](const std::string& warning) { ADD_FAILURE() << warning; });
  const Shipped shipped[] = {{"cuda:sm_90a", DType::bf16},
                             {"cuda:sm_90a", DType::f32},
                             {"vulkan:nvidia", DType::bf16, 132},
                             {"vulkan:nvidia", DType::f32, 132},
                             {"vulkan:lavapipe", DType::f32}};
  for (const char* model :
       {"mlp", "transformer-encoder-layer", "bert-base", "resnet50", "vit-b16"}) {
    const ir::Graph graph = load_graph(configs / "models" / (std::string(model) + ".yaml"));
    for (const Shipped& one : shipped) {
      sched::Target target = sched::target_by_name(one.target);
      if (one.compute_units > 0) target.compute_units = one.compute_units;
      backends::CompileOptions options;
      options.dtype = one.dtype;
      const backends::Scheduled scheduled = backends::schedule(graph, target, options);
      for (const sched::Region& region : scheduled.regions) {
        const sched::Template& chosen = sched::template_for(region, target);
        const sched::Tier tier = records.choose(chosen, region, target).tier;
        EXPECT_TRUE(tier == sched::Tier::exact || tier == sched::Tier::stale)
            << model << " on " << one.target << ": " << chosen.name() << " " << region.name()
            << ": " << sched::name(tier);
      }
    }
  }
}

}  // namespace
}  // namespace tcc::autotune
