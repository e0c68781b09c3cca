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
#include "tests/unit/simulated_meter.h"

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
    for (const TuningTask& task : tuning_tasks(graphs)) {
      tunables.push_back(tunable_of(task, {}));
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
  const auto tasks = tuning_tasks(graphs);
  EXPECT_LT(tasks.size(), regions);
  int launches = 0;
  for (const TuningTask& task : tasks) launches += task.launches;
  EXPECT_EQ(static_cast<size_t>(launches), regions);
}

// A region with open dims is measured at some sizes, by kernels for parts of the range, and
// programs take what was found there.
TEST(TuneTest, OpenDimsAreMeasuredAtSizes) {
  const auto device = runtime::open_device("null");
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\ndims: {M: 16}\ninputs: {x: {dtype: f32, shape: [M, 40]}}\n"
      "nodes: [{out: y, op: softmax, in: [x], dim: -1}]\noutputs: [y]\n",
      "g.yaml", ".");
  backends::CompileOptions compile;
  compile.open_dims = {{"M", {1, 512, 1}}};
  std::vector<backends::Scheduled> graphs;
  graphs.push_back(backends::schedule(graph, device->target(), compile));
  const std::vector<TuningTask> tasks = tuning_tasks(graphs);
  ASSERT_EQ(tasks.size(), 8u);
  std::vector<Tunable> tunables;
  std::set<std::string> sizes, regions;
  for (const TuningTask& task : tasks) {
    Tunable& tunable = tunables.emplace_back(tunable_of(task, {}));
    tunable.bound_seconds = 0;
    sizes.insert(tunable.sizes);
    regions.insert(tunable.key.region);
    EXPECT_EQ(tunable.share, 1.0 / 8);
    EXPECT_NE(tunable.operands.find("f32[" + tunable.sizes.substr(2) + ", 40]"), std::string::npos)
        << tunable.operands;
    // It is the kernel of open sizes, with numbers in their places.
    const exec::StandaloneSequence kernel = tunable.compile(tunable.default_config);
    EXPECT_NO_THROW(exec::check(kernel));
    EXPECT_EQ(kernel.arguments, 2);
    EXPECT_EQ(tunable.job(1).outputs.at(0).elements, 40 * std::stoll(tunable.sizes.substr(2)));
  }
  EXPECT_EQ(sizes.size(), 8u);
  EXPECT_EQ(regions.size(), 8u);
  EXPECT_TRUE(sizes.contains("M=1"));

  const std::string name = device->name();
  TuneOptions options;
  options.workers = false;
  options.search = SearchKind::random;
  options.trials = 16;
  const TuneResult result = tune_tunables(tunables, device->target().is_cpu, {&name, 1}, options);
  ASSERT_EQ(result.kernels.size(), 8u);
  for (const KernelResult& kernel : result.kernels) EXPECT_LE(kernel.trials.size(), 4u);
  // Records of all sizes serve the program.
  RecordStore records;
  for (size_t i = 0; i < tunables.size(); ++i) {
    Record record;
    record.key = tunables[i].key;
    record.family = tunables[i].family;
    record.extents = tunables[i].extents;
    record.environment = tunables[i].environment;
    record.tcc = tcc_version();
    record.best = tunables[i].space.draw([n = i]() mutable { return n++ * 7919; }, 1).at(0);
    record.seconds = record.default_seconds = 1e-6;
    records.add(record);
    EXPECT_EQ(tunables[i].choose(records).tier, sched::Tier::exact);
  }
  compile.configs = &records;
  std::set<std::string> tiers;
  for (const exec::KernelBinary& kernel :
       backends::compile(graph, device->target(), compile).kernels)
    tiers.insert(kernel.tier);
  EXPECT_TRUE(tiers.contains("exact"));
}

TEST(TuneTest, ShardsAreAPartition) {
  const auto device = runtime::open_device("null");
  std::vector<backends::Scheduled> graphs;
  for (int n = 1; n <= 40; ++n)
    graphs.push_back(
        backends::schedule(graph_of("x: {dtype: f32, shape: [" + std::to_string(n) + ", 8]}",
                                    "{out: y, op: exp, in: [x]}"),
                           device->target()));
  const auto tasks = tuning_tasks(graphs);
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

// Kernels on a simulated device: each has a time, and a sleep that stands for what a trial takes.
class Budget : public testing::Test {
 protected:
  struct Kernel {
    double seconds = 1e-3;
    std::chrono::milliseconds trial{10};
    SimulatedDevice device;
  };

  Budget() : search_(runtime::open_device("null")), original_(search_.tunables.at(0)) {
    search_.tunables.clear();
    search_.options.search = SearchKind::random;
    search_.options.open_bench = [this](const std::string&, const BenchJob& job) {
      return std::make_unique<SimulatedMeter>(kernels_.at(std::stoul(job.name))->device);
    };
    search_.options.events.finished = [this](const KernelResult& kernel) {
      ++finished_[kernel.task.name];
    };
  }

  void add(double seconds, int trial_ms, int launches = 1) {
    const std::string number = std::to_string(kernels_.size());
    auto kernel = std::make_unique<Kernel>();
    kernel->seconds = seconds;
    const std::string default_config = original_.default_config.to_string();
    kernel->device.seconds = [=](const std::string& config) {
      return config == default_config ? seconds : seconds * 0.5;
    };
    kernel->device.measured = [=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(trial_ms));
    };
    kernels_.push_back(std::move(kernel));
    Tunable tunable = original_;
    tunable.name = number;
    tunable.key.region = std::string(32, static_cast<char>('a' + kernels_.size()));
    tunable.launches = launches;
    tunable.job = [number](uint64_t) {
      BenchJob job;
      job.name = number;
      return job;
    };
    tunable.estimate = [=](const sched::Config&) { return seconds; };
    tunable.choose = {};
    search_.tunables.push_back(tunable);
  }
  TuneResult run(double seconds, size_t trials = 1000) {
    search_.options.budget_seconds = seconds;
    search_.options.trials = trials;
    return tune_tunables(search_.tunables, true, devices_, search_.options);
  }

  Search search_;
  Tunable original_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::string> devices_ = {"null"};
  std::map<std::string, int> finished_;
};

TEST_F(Budget, TimeIsSpentWhereARunSpendsIt) {
  add(0.05e-3, 5);
  add(5e-3, 20);
  add(0.2e-3, 5, 2);
  const TuneResult result = run(2.5);
  ASSERT_EQ(result.kernels.size(), 3u);
  const KernelResult &light = result.kernels[0], &heavy = result.kernels[1];
  EXPECT_GT(heavy.wall_seconds, 0.6 * 2.5);
  EXPECT_GT(heavy.wall_seconds, 5 * light.wall_seconds);
  for (const KernelResult& kernel : result.kernels) {
    EXPECT_GT(kernel.trials.size(), 3u) << kernel.task.name << ": all have their part";
    EXPECT_TRUE(kernel.record) << kernel.task.name;
    EXPECT_EQ(kernel.kept, "");
  }
  EXPECT_LT(result.wall_seconds, 4);
}

// Many kernels that hardly count, and time for few trials: those of the heavy one.
TEST_F(Budget, WhatHasTooLittleTimeForAFindLeavesItToOthers) {
  for (int i = 0; i < 10; ++i) add(0.05e-3, 0);
  add(5e-3, 20);
  // Measuring what is in use takes what a trial does.
  for (int i = 0; i < 10; ++i)
    search_.tunables[static_cast<size_t>(i)].compile =
        [compile = original_.compile](const sched::Config& config) {
          std::this_thread::sleep_for(std::chrono::milliseconds(40));
          return compile(config);
        };
  const TuneResult result = run(2);
  ASSERT_EQ(result.kernels.back().task.name, "10");
  EXPECT_TRUE(result.kernels.back().record);
  EXPECT_EQ(result.kernels.back().kept, "");
  EXPECT_GT(result.kernels.back().trials.size(), 10u);
  size_t kept = 0, records = 0;
  for (const KernelResult& kernel : result.kernels) {
    kept += kernel.kept == "no finals";
    records += kernel.record.has_value();
    EXPECT_EQ(kernel.kept.empty(), kernel.record.has_value());
    EXPECT_EQ(finished_.count(kernel.task.name), 1u) << "every kernel is told of";
  }
  EXPECT_GT(kept, 4u);
  EXPECT_EQ(result.records.records().size(), records);
}

// A budget that seems too short for anything is used for the heaviest kernel.
TEST_F(Budget, IsNotLeftUnused) {
  add(60e-3, 20);
  add(0.05e-3, 5);
  const TuneResult result = run(1.5);
  EXPECT_GT(result.kernels[0].trials.size(), 3u);
  EXPECT_TRUE(result.kernels[0].record);
  EXPECT_GT(result.wall_seconds, 0.7);
}

// One that has tried all it may leaves its share; those that were cut off go on with it.
TEST_F(Budget, WhatOneKernelLeavesOthersUse) {
  add(1e-3, 1);
  add(1e-3, 15);
  const size_t space = static_cast<size_t>(original_.space.size());
  search_.tunables[0].space.constraints.push_back(
      {"few", [d = original_.default_config](const sched::Config& c) { return c == d; }});
  const TuneResult result = run(1.2);
  ASSERT_EQ(result.kernels.size(), 2u);
  EXPECT_EQ(result.kernels[0].ended, "space exhausted");
  EXPECT_GT(result.kernels[1].wall_seconds, 0.7);
  EXPECT_LE(result.kernels[1].trials.size(), space);
}

// The remaining budget is for all devices at once.
TEST_F(Budget, IsForAllDevices) {
  devices_ = {"null", "null"};
  for (int i = 0; i < 4; ++i) add(1e-3, 20);
  const TuneResult result = run(2);
  double sum = 0;
  for (const KernelResult& kernel : result.kernels) sum += kernel.wall_seconds;
  EXPECT_GT(sum, 1.3 * result.wall_seconds);
  EXPECT_LT(result.wall_seconds, 3.5);
}

TEST_F(Budget, AnInterruptSavesWhatHasWon) {
  for (int i = 0; i < 3; ++i) add(1e-3, 1);
  std::atomic<bool> interrupted = false;
  search_.options.interrupted = &interrupted;
  search_.options.events.trial = [&](const KernelResult& kernel) {
    if (kernel.task.name == "1" && kernel.trials.size() == 4) interrupted = true;
  };
  const TuneResult result = run(0, 8);
  EXPECT_TRUE(result.interrupted);
  ASSERT_EQ(result.kernels.size(), 2u) << "the third was not begun";
  for (const KernelResult& kernel : result.kernels) EXPECT_EQ(kernel.kept, "");
  EXPECT_EQ(result.kernels[1].trials.size(), 4u);
  EXPECT_EQ(result.records.records().size(), 2u);
}

TEST(TuneTest, WhatTheLogHoldsIsNotMeasuredAgain) {
  const backends::TemporaryFolder folder;
  Search search(runtime::open_device("null"));
  search.options.log = folder.path() / "trials.jsonl";
  const TuneResult first = search.run();
  search.options.resume = true;
  int compiled = 0;
  search.tunables[0].compile = [&](const sched::Config&) -> exec::StandaloneKernel {
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
  search.tunables[0].compile = [](const sched::Config&) -> exec::StandaloneKernel {
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
  const auto tasks = tuning_tasks(search.graphs);
  const auto choice = store.choose(*tasks[0].candidate);
  EXPECT_EQ(choice.tier, sched::Tier::exact);
  EXPECT_EQ(choice.config, kernel.record->best);
}

}  // namespace
}  // namespace tcc::autotune
