// Checks what holds for the schedule of any graph: regions are in topological order, each output is
// made once, and equal graphs have equal schedules.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/sizes.h"
#include "scheduler/memory_plan.h"
#include "scheduler/region_text.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "tests/fuzz/random_graphs.h"
#include "tests/source_dir.h"

namespace tcc::test {
namespace {

constexpr uint64_t kGraphs = 25;

std::string text_of(const backends::Scheduled& scheduled) {
  std::string text;
  for (const sched::Region& region : scheduled.regions) {
    text += sched::region_text(region).text;
    for (const ir::Value* value : region.inputs) text += value->name + " ";
    text += "-> ";
    for (const ir::Value* value : region.outputs) text += value->name + " ";
    text += "\n";
  }
  return text;
}

backends::Scheduled schedule(uint64_t seed, const sched::Target& target) {
  return backends::schedule(random_graph(seed), target);
}

TEST(RandomSchedules, RegionsAreInTopologicalOrder) {
  for (const char* name : {"cuda:sm_90a", "vulkan:lavapipe"})
    for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
      const backends::Scheduled scheduled = schedule(seed, sched::target_by_name(name));
      std::set<const ir::Value*> made;
      for (const sched::Region& region : scheduled.regions) {
        for (const ir::Value* input : region.inputs)
          EXPECT_TRUE(!input->producer || made.contains(input))
              << name << ", seed " << seed << ": " << region.name() << " reads " << input->name;
        for (const ir::Value* output : region.outputs)
          EXPECT_TRUE(made.insert(output).second)
              << name << ", seed " << seed << ": two regions make " << output->name;
      }
      for (const ir::Value* output : scheduled.graph->outputs)
        EXPECT_TRUE(made.contains(output) || !output->producer || ir::numel(output) == 0)
            << name << ", seed " << seed << ": " << output->name << " is not made";
    }
}

// The compiler's executables are sound by the rules for files: views of tensor maps lie within
// their buffers, addresses are aligned as kernels assume.
TEST(RandomSchedules, ExecutablesPassTheChecksOfFiles) {
  backends::CompileOptions options;
  options.binaries = false;
  int maps = 0;
  const auto check = [&](const ir::Graph& graph, const char* target) {
    const exec::Executable executable =
        backends::compile(graph, sched::target_by_name(target), options);
    EXPECT_NO_THROW(exec::check(executable)) << target << ": " << graph.name;
    for (const exec::KernelLaunch* launch : exec::launches(executable))
      maps += static_cast<int>(launch->maps.size());
  };
  for (const char* target : {"cuda:sm_90a", "cuda:sm_80", "vulkan:lavapipe"})
    for (uint64_t seed = 1; seed <= kGraphs; ++seed) check(random_graph(seed), target);
  const auto models = testing::source_dir() / "configs/models";
  for (const auto& file : std::filesystem::directory_iterator(models)) {
    for (const std::optional<DType> dtype : {std::optional<DType>(), std::optional(DType::bf16)}) {
      options.dtype = dtype;
      check(load_graph(file.path()), "cuda:sm_90a");
    }
  }
  EXPECT_GT(maps, 0);
}

// Which template takes a region does not hang on their names.
TEST(RandomSchedules, NoTwoTemplatesOfOneSpecificityTakeARegion) {
  for (const char* name : {"cuda:sm_90a", "cuda:sm_80", "vulkan:lavapipe"}) {
    const sched::Target target = sched::target_by_name(name);
    for (uint64_t seed = 1; seed <= kGraphs; ++seed)
      for (const sched::Region& region : schedule(seed, target).regions) {
        std::map<int, std::string_view> takers;
        for (const sched::Template* one : sched::templates()) {
          if (!one->match(region, target)) continue;
          const auto [first, is_only] = takers.emplace(one->specificity(), one->name());
          EXPECT_TRUE(is_only) << name << ", seed " << seed << ": " << first->second << " and "
                               << one->name() << " take " << region.name();
        }
        EXPECT_FALSE(takers.empty());
      }
  }
}

TEST(RandomSchedules, EqualGraphsHaveEqualSchedules) {
  for (const char* name : {"cuda:sm_90a", "vulkan:lavapipe"})
    for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
      const sched::Target target = sched::target_by_name(name);
      EXPECT_EQ(text_of(schedule(seed, target)), text_of(schedule(seed, target)))
          << name << ", seed " << seed;
    }
}

TEST(RandomSchedules, ArenasHoldWhatIsLive) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
    const backends::Scheduled scheduled = schedule(seed, target);
    std::vector<const sched::Region*> order;
    for (const sched::Region& region : scheduled.regions) order.push_back(&region);
    std::vector<sched::Lifetime> lifetimes = sched::lifetimes(*scheduled.graph, order);
    int64_t sum = 0;
    for (const sched::Lifetime& one : lifetimes) sum += one.bytes;
    const int64_t size = sched::plan_arena(lifetimes);
    EXPECT_LE(size, sum) << "seed " << seed;
    EXPECT_GE(size, sched::live_peak(lifetimes)) << "seed " << seed;
    for (const sched::Lifetime& a : lifetimes)
      for (const sched::Lifetime& b : lifetimes)
        EXPECT_TRUE(&a == &b || a.last < b.first || b.last < a.first ||
                    a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
            << "seed " << seed << ": " << a.value->name << " and " << b.value->name;
  }
}

}  // namespace
}  // namespace tcc::test
