// Whole sweeps, on the null device and on Vulkan.
#include "autotune/tune.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "backends/compile/process.h"
#include "frontend/graph_file.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

using Status = Measurement::Status;

ir::Graph graph_of(const std::string& inputs, const std::string& nodes) {
  return parse_yaml_graph(
      "tcc: 1\ninputs: {" + inputs + "}\nnodes: [" + nodes + "]\noutputs: [y]\n", "test.yaml", ".");
}

// One kernel of a device, tuned in this process.
struct Search {
  std::shared_ptr<runtime::Device> device;
  std::vector<backends::Scheduled> graphs;
  std::vector<Tunable> tunables;
  std::string name;
  TuneOptions options;

  explicit Search(std::shared_ptr<runtime::Device> on)
      : device(std::move(on)), name(device->name()) {
    const ir::Graph graph =
        graph_of("x: {dtype: f32, shape: [24, 40]}", "{out: y, op: softmax, in: [x], dim: -1}");
    graphs.push_back(backends::schedule(graph, device->target()));
    for (const TuningTask& task : tuning_tasks(graphs, device->target())) {
      tunables.push_back(tunable_of(task, device->target(), {}));
      tunables.back().bound_seconds = 0;  // the null device takes no time
    }
    options.workers = false;
    options.search = SearchKind::random;
    options.trials = 6;
    options.jobs = 3;
  }
  TuneResult run() { return tune_tunables(tunables, device->target().is_cpu, {&name, 1}, options); }
};

TEST(TuneTest, TasksAreDistinctKernels) {
  const auto device = runtime::open_device("null");
  const ir::Graph graph =
      graph_of("x: {dtype: f32, shape: [8, 8]}",
               "{out: a, op: matmul, in: [x, x]}, {out: y, op: matmul, in: [a, a]}");
  std::vector<backends::Scheduled> graphs;
  graphs.push_back(backends::schedule(graph, device->target()));
  graphs.push_back(backends::schedule(graph, device->target()));
  const size_t regions = graphs[0].regions.size() + graphs[1].regions.size();
  const auto tasks = tuning_tasks(graphs, device->target());
  EXPECT_LT(tasks.size(), regions);
  int launches = 0;
  for (const TuningTask& task : tasks) launches += task.launches;
  EXPECT_EQ(static_cast<size_t>(launches), regions);
}

TEST(TuneTest, ShardsAreAPartition) {
  const auto device = runtime::open_device("null");
  std::vector<backends::Scheduled> graphs;
  for (int n = 1; n <= 40; ++n)
    graphs.push_back(
        backends::schedule(graph_of("x: {dtype: f32, shape: [" + std::to_string(n) + ", 8]}",
                                    "{out: y, op: exp, in: [x]}"),
                           device->target()));
  const auto tasks = tuning_tasks(graphs, device->target());
  std::set<RecordKey> seen;
  for (int i = 0; i < 3; ++i) {
    const auto part = shard(tasks, i, 3);
    EXPECT_GT(part.size(), tasks.size() / 6);
    for (const TuningTask& task : part) EXPECT_TRUE(seen.insert(task.key).second);
  }
  EXPECT_EQ(seen.size(), tasks.size());
}

// It runs nothing, but takes the way of GPUs: compiling and measuring overlap.
TEST(TuneTest, NullDevice) {
  Search search(runtime::open_device("null"));
  ASSERT_EQ(search.tunables.size(), 1u);
  size_t reports = 0;
  search.options.events.trial = [&](const KernelResult& result) {
    EXPECT_EQ(result.trials.size(), ++reports);
  };
  const TuneResult result = search.run();
  ASSERT_EQ(result.kernels.size(), 1u);
  const KernelResult& kernel = result.kernels[0];
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(kernel.ended, "trials");
  EXPECT_EQ(kernel.trials.size(), 7u);  // the default too
  EXPECT_EQ(kernel.count(Status::measured), 7u);
  EXPECT_EQ(reports, 7u);
  ASSERT_TRUE(kernel.record);
  EXPECT_EQ(kernel.record->key, search.tunables[0].key);
  // All times are equal: nothing beats the default.
  EXPECT_EQ(kernel.record->best, search.tunables[0].default_config);
  EXPECT_EQ(result.records.records().size(), 1u);
}

TEST(TuneTest, EndsWhenItIsToldTo) {
  Search search(runtime::open_device("null"));
  std::atomic<bool> interrupted = false;
  search.options.interrupted = &interrupted;
  search.options.events.trial = [&](const KernelResult& kernel) {
    if (kernel.trials.size() == 2) interrupted = true;
  };
  const TuneResult result = search.run();
  EXPECT_TRUE(result.interrupted);
  ASSERT_EQ(result.kernels.size(), 1u);
  EXPECT_EQ(result.kernels[0].trials.size(), 2u);
  EXPECT_EQ(result.kernels[0].ended, "interrupted");
  EXPECT_TRUE(result.kernels[0].record);  // of what is known
}

// A default that nothing was compared with would outrank the records of other sizes.
TEST(TuneTest, ASpentBudgetRecordsNothing) {
  Search search(runtime::open_device("null"));
  search.options.budget_seconds = 1e-9;
  const TuneResult result = search.run();
  ASSERT_EQ(result.kernels.size(), 1u);
  EXPECT_EQ(result.kernels[0].ended, "budget");
  EXPECT_GT(result.kernels[0].default_seconds, 0);
  EXPECT_FALSE(result.kernels[0].record);
}

// The first of two kernels compiles slowly and is cut off at half of the budget; the second leaves
// its share, with which the first goes on.
TEST(TuneTest, WhatOneKernelLeavesOfTheBudgetAnotherUses) {
  Search search(runtime::open_device("null"));
  search.tunables.push_back(search.tunables[0]);
  search.tunables.push_back(search.tunables[0]);
  search.tunables.push_back(search.tunables[0]);
  for (size_t i = 0; i < search.tunables.size(); ++i)
    search.tunables[i].key.region[0] = static_cast<char>('a' + i);
  const auto compile = search.tunables[0].compile;
  search.tunables[0].compile = [=](const sched::Config& config) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return compile(config);
  };
  search.options.trials = 24;
  search.options.jobs = 1;
  search.options.budget_seconds = 4;
  std::map<std::string, int> ends;
  search.options.events.finished = [&](const KernelResult& kernel) {
    ++ends[kernel.task.key.region];
  };
  const TuneResult result = search.run();
  ASSERT_EQ(result.kernels.size(), 4u);
  EXPECT_EQ(ends[search.tunables[0].key.region], 2);
  EXPECT_EQ(ends[search.tunables[1].key.region], 1);
  EXPECT_EQ(result.kernels[0].resumed, 0u) << "its first round is of this run";
}

// The first two of four kernels are cut off; what is left is for both at once, on both devices.
TEST(TuneTest, WhatIsLeftOfTheBudgetIsForAllDevices) {
  Search search(runtime::open_device("null"));
  search.tunables.resize(4, search.tunables[0]);
  for (size_t i = 0; i < 4; ++i) search.tunables[i].key.region[0] = static_cast<char>('a' + i);
  for (size_t i = 0; i < 2; ++i)
    search.tunables[i].compile = [compile =
                                      search.tunables[i].compile](const sched::Config& config) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return compile(config);
    };
  search.options.trials = 48;
  search.options.jobs = 2;
  search.options.budget_seconds = 3;
  std::map<std::string, int> starts, ends;
  bool both_at_once = false;
  search.options.events.started = [&](const KernelResult& kernel) {
    ++starts[kernel.task.key.region];
    both_at_once |=
        starts[search.tunables[0].key.region] == 2 && starts[search.tunables[1].key.region] == 2 &&
        ends.at(search.tunables[0].key.region) == 1 && ends.at(search.tunables[1].key.region) == 1;
  };
  search.options.events.finished = [&](const KernelResult& kernel) {
    ++ends[kernel.task.key.region];
  };
  const std::string devices[] = {search.name, search.name};
  const bool one_at_a_time = true;  // on each device
  const TuneResult result = tune_tunables(search.tunables, one_at_a_time, devices, search.options);
  ASSERT_EQ(result.kernels.size(), 4u);
  EXPECT_TRUE(both_at_once);
  EXPECT_EQ(ends[search.tunables[2].key.region], 1);
  EXPECT_LT(result.wall_seconds, 4.5);
}

TEST(TuneTest, WhatTheLogHoldsIsNotMeasuredAgain) {
  const backends::TemporaryFolder folder;
  Search search(runtime::open_device("null"));
  search.options.log = folder.path() / "trials.jsonl";
  const TuneResult first = search.run();
  search.options.resume = true;
  int compiled = 0;
  search.tunables[0].compile = [&](const sched::Config&) -> sched::KernelBinary {
    ++compiled;
    fail_device("nothing is left to compile");
  };
  const TuneResult second = search.run();
  EXPECT_EQ(compiled, 0);
  ASSERT_EQ(second.kernels.size(), 1u);
  EXPECT_EQ(second.kernels[0].error, "");
  EXPECT_EQ(second.kernels[0].resumed, 7u);
  EXPECT_EQ(second.kernels[0].record->best, first.kernels[0].record->best);
  // Nor is it forgotten when the new search proposes other configs.
  search.options.trials = 0;
  EXPECT_EQ(search.run().kernels[0].resumed, 7u);
}

TEST(TuneTest, CandidatesThatDoNotCompileAreNoted) {
  Search search(runtime::open_device("null"));
  Tunable& tunable = search.tunables[0];
  const auto compile = tunable.compile;
  const sched::Config good = tunable.default_config;
  tunable.compile = [=](const sched::Config& config) {
    if (config != good) fail_device("kernel softmax does not compile");
    return compile(config);
  };
  const KernelResult kernel = search.run().kernels.at(0);
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(kernel.count(Status::refused), 6u);
  EXPECT_EQ(kernel.trials.back().result.reason, "kernel softmax does not compile");
  EXPECT_EQ(kernel.record->best, good);
}

TEST(TuneTest, AKernelWithoutADefaultIsAnErrorOfItsOwn) {
  Search search(runtime::open_device("null"));
  search.tunables.push_back(search.tunables[0]);
  search.tunables[0].compile = [](const sched::Config&) -> sched::KernelBinary {
    fail_device("kernel softmax does not compile");
  };
  const TuneResult result = search.run();
  ASSERT_EQ(result.kernels.size(), 2u);
  EXPECT_EQ(result.kernels[0].error, "kernel softmax does not compile");
  EXPECT_FALSE(result.kernels[0].record);
  EXPECT_EQ(result.kernels[1].error, "");
  EXPECT_TRUE(result.kernels[1].record);
}

TEST(TuneTest, VulkanCandidatesAreRightAndTheRecordIsUsed) {
  std::shared_ptr<runtime::Device> device;
  for (const runtime::DeviceEntry& entry : runtime::list_devices().devices)
    if (!device && entry.name.starts_with("vulkan")) device = runtime::open_device(entry.name);
  if (!device) GTEST_SKIP() << "no Vulkan device";
  Search search(device);
  search.options.trials = 4;
  const KernelResult kernel = search.run().kernels.at(0);
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(kernel.count(Status::measured) + kernel.count(Status::slow), 5u);
  ASSERT_TRUE(kernel.record);
  EXPECT_LE(kernel.best_seconds, kernel.default_seconds);
  RecordStore store;
  store.add(*kernel.record);
  const auto tasks = tuning_tasks(search.graphs, device->target());
  const auto choice = store.choose(*tasks[0].kernel_template, *tasks[0].region, device->target());
  EXPECT_EQ(choice.tier, sched::Tier::exact);
  EXPECT_EQ(choice.config, kernel.record->best);
}

}  // namespace
}  // namespace tcc::autotune
