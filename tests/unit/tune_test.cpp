// Sampling a space, the gate, measuring, and whole searches on the null device and on Vulkan.
#include "autotune/tune.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "autotune/gate.h"
#include "autotune/measure.h"
#include "autotune/search.h"
#include "autotune/space.h"
#include "frontend/graph_file.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

sched::ConfigSpace triangle() {
  sched::ConfigSpace space;
  space.parameters = {{"a", {1, 2, 3, 4, 5, 6, 7, 8}, ""}, {"b", {1, 2, 3, 4, 5, 6, 7, 8}, ""}};
  space.constraints = {{"a <= b", [](const sched::Config& c) { return c["a"] <= c["b"]; }}};
  return space;  // 36 legal configs
}

TEST(SampleTest, SmallSpacesAreExhausted) {
  auto all = sample_configs(triangle(), 100, 0);
  EXPECT_EQ(all.size(), 36u);
  EXPECT_EQ(std::set<sched::Config>(all.begin(), all.end()).size(), 36u);
  EXPECT_TRUE(sample_configs(triangle(), 0, 0).empty());
}

TEST(SampleTest, SamplesAreSeededLegalAndDistinct) {
  auto one = sample_configs(triangle(), 10, 7), two = sample_configs(triangle(), 10, 7);
  EXPECT_EQ(one, two);
  EXPECT_NE(one, sample_configs(triangle(), 10, 8));
  EXPECT_EQ(std::set<sched::Config>(one.begin(), one.end()).size(), 10u);
  for (const sched::Config& config : one) EXPECT_EQ(triangle().violation(config), "");
}

TEST(SampleTest, EveryConfigIsAboutEquallyLikely) {
  std::map<sched::Config, int> counts;
  constexpr int kRounds = 3600;
  for (int seed = 0; seed < kRounds; ++seed)
    for (const auto& config : sample_configs(triangle(), 9, static_cast<uint64_t>(seed)))
      ++counts[config];
  ASSERT_EQ(counts.size(), 36u);
  for (const auto& [config, count] : counts)
    EXPECT_NEAR(count, kRounds / 4, 6 * std::sqrt(kRounds * 0.25 * 0.75)) << config.to_string();
}

TEST(SearchTest, TheKnownConfigIsNotProposed) {
  sched::Config known = {{"a", 1}, {"b", 1}};
  auto search = random_search(triangle(), known, 100, 0);
  auto batch = search->next_batch();
  EXPECT_EQ(batch.size(), 35u);
  EXPECT_EQ(std::count(batch.begin(), batch.end(), known), 0);
  EXPECT_TRUE(search->next_batch().empty());
  EXPECT_EQ(random_search(triangle(), known, 5, 0)->next_batch().size(), 5u);
}

// ---- gate

template <class T>
GateResult gate(const std::vector<T>& expected, const std::vector<T>& got, DType dtype,
                double combined = 1) {
  return compare_with(std::as_bytes(std::span(expected)), std::as_bytes(std::span(got)), dtype,
                      combined);
}

TEST(GateTest, RoundingPassesAndErrorsDoNot) {
  std::vector<float> expected(1000), got(1000);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = 1.0f + static_cast<float>(i) * 0.001f;
    got[i] = expected[i] * (1 + 4e-7f);
  }
  GateResult result = gate(expected, got, DType::f32);
  EXPECT_TRUE(result.pass) << result.reason;
  EXPECT_GT(result.error, 0);
  EXPECT_LT(result.error, 1);
  got[500] += 0.01f;
  result = gate(expected, got, DType::f32);
  EXPECT_FALSE(result.pass);
  EXPECT_NE(result.reason.find("element 500"), std::string::npos) << result.reason;
  // One term of a sum of 1000 that was left out.
  for (size_t i = 0; i < expected.size(); ++i) got[i] = expected[i] * 0.999f;
  EXPECT_FALSE(gate(expected, got, DType::f32, 1000).pass);
}

TEST(GateTest, SpecialValuesStandWhereTheyStood) {
  const float nan = std::nanf(""), inf = INFINITY;
  EXPECT_TRUE(gate<float>({1, nan, inf}, {1, nan, inf}, DType::f32).pass);
  EXPECT_FALSE(gate<float>({1, nan, inf}, {1, nan, -inf}, DType::f32).pass);
  EXPECT_FALSE(gate<float>({1, 2, 3}, {1, nan, 3}, DType::f32).pass);
  EXPECT_FALSE(gate<float>({0, 0}, {0, 1e-20f}, DType::f32).pass);
  EXPECT_TRUE(gate<float>({0, 0}, {0, -0.0f}, DType::f32).pass);
}

TEST(GateTest, IntegersAreExact) {
  EXPECT_TRUE(gate<int32_t>({1, -2}, {1, -2}, DType::i32).pass);
  GateResult result = gate<int32_t>({1, -2}, {1, -3}, DType::i32);
  EXPECT_EQ(result.reason, "element 1 is -3, not -2");
}

// ---- on devices

ir::Graph graph_of(const std::string& inputs, const std::string& nodes) {
  return parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {" + inputs + "}\nnodes: [" + nodes + "]\noutputs: [y]\n", "g.yaml",
      ".");
}

// The first Vulkan device, or null.
std::shared_ptr<runtime::Device> vulkan() {
  if (runtime::list_vulkan().devices.empty()) return nullptr;
  return runtime::open_device("vulkan:0");
}

struct OneKernel {
  ir::Graph graph;
  backends::Scheduled scheduled;
  std::unique_ptr<runtime::LoadedKernel> kernel;  // of the default config

  OneKernel(runtime::Device& device, const std::string& inputs, const std::string& nodes)
      : graph(graph_of(inputs, nodes)), scheduled(backends::schedule(graph, device.target())) {
    const sched::Template& t = sched::template_for(region(), device.target());
    kernel = device.load(backends::compile_region(
        region(), t, t.default_config(region(), device.target()), device.target()));
  }
  const sched::Region& region() const { return scheduled.regions.at(0); }
};

constexpr double kUnknown = std::numeric_limits<double>::infinity();

TEST(RegionBenchTest, WrongValuesAndWritesOutsideAreFound) {
  auto device = vulkan();
  if (!device) GTEST_SKIP() << "no Vulkan device";
  // All read element 0 alone: the larger kernel reads nothing that is not there.
  const std::string x = "x: {dtype: f32, shape: [1]}";
  OneKernel right(*device, x,
                  "{out: a, op: expand, in: [x], size: [64]}, {out: y, op: exp, in: [a]}");
  OneKernel wrong(*device, x,
                  "{out: a, op: expand, in: [x], size: [64]}, {out: y, op: sin, in: [a]}");
  OneKernel larger(*device, x,
                   "{out: a, op: expand, in: [x], size: [96]}, {out: y, op: exp, in: [a]}");
  OneKernel smaller(*device, x,
                    "{out: a, op: expand, in: [x], size: [32]}, {out: y, op: exp, in: [a]}");

  RegionBench bench(device, right.region(), 1);
  bench.set_expected(*right.kernel);
  Measurement m = bench.measure(*right.kernel, kUnknown);
  EXPECT_EQ(m.status, Measurement::Status::measured) << m.reason;
  EXPECT_GT(m.seconds, 0);
  EXPECT_GE(m.samples, 3);
  EXPECT_EQ(bench.measure(*wrong.kernel, kUnknown).status, Measurement::Status::wrong);
  m = bench.measure(*larger.kernel, kUnknown);
  EXPECT_EQ(m.status, Measurement::Status::wrong);
  EXPECT_EQ(m.reason, "wrote outside output 0");
  // What is not written is poison, not what an earlier kernel left.
  EXPECT_EQ(bench.measure(*smaller.kernel, kUnknown).status, Measurement::Status::wrong);
  EXPECT_EQ(bench.measure(*right.kernel, 1e-12).status, Measurement::Status::slow);
}

TEST(TuneTest, TasksAreDistinctKernels) {
  auto device = runtime::open_device("null");
  ir::Graph graph = graph_of("x: {dtype: f32, shape: [8, 8]}",
                             "{out: a, op: matmul, in: [x, x]}, {out: y, op: matmul, in: [a, a]}");
  std::vector<backends::Scheduled> graphs;
  graphs.push_back(backends::schedule(graph, device->target()));
  graphs.push_back(backends::schedule(graph, device->target()));
  size_t regions = graphs[0].regions.size() + graphs[1].regions.size();
  auto tasks = tuning_tasks(graphs, device->target());
  EXPECT_LT(tasks.size(), regions);
  int launches = 0;
  for (const TuningTask& task : tasks) launches += task.launches;
  EXPECT_EQ(static_cast<size_t>(launches), regions);
}

struct Search {
  std::shared_ptr<runtime::Device> device;
  ir::Graph graph;
  std::vector<backends::Scheduled> graphs;
  std::vector<TuningTask> tasks;
  TuneOptions options;

  explicit Search(std::shared_ptr<runtime::Device> on)
      : device(std::move(on)),
        graph(graph_of("x: {dtype: f32, shape: [24, 40]}",
                       "{out: y, op: softmax, in: [x], dim: -1}")) {
    graphs.push_back(backends::schedule(graph, device->target()));
    tasks = tuning_tasks(graphs, device->target());
    options.trials = 6;
    options.jobs = 3;
  }
};

// It runs nothing, but takes the way of GPUs: compiling and measuring overlap.
TEST(TuneTest, NullDevice) {
  Search search(runtime::open_device("null"));
  ASSERT_EQ(search.tasks.size(), 1u);
  size_t reports = 0;
  search.options.progress = [&](const KernelResult& result) { EXPECT_EQ(result.tried, ++reports); };
  KernelResult result = tune_kernel(search.device, search.tasks[0], search.options);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.planned, 6u);
  EXPECT_EQ(result.tried, 6u);
  EXPECT_EQ(result.failed + result.wrong + result.slow, 0u) << result.first_failure;
  EXPECT_EQ(reports, 6u);
  ASSERT_TRUE(result.record);
  EXPECT_EQ(result.record->key, search.tasks[0].key);
  // All times are equal: the smallest hash wins, whatever the order.
  search.options.jobs = 1;
  search.options.progress = nullptr;
  KernelResult again = tune_kernel(search.device, search.tasks[0], search.options);
  EXPECT_EQ(again.record->best, result.record->best);
}

TEST(TuneTest, EndsWhenItIsToldTo) {
  Search search(runtime::open_device("null"));
  std::atomic<bool> interrupted = false;
  search.options.interrupted = &interrupted;
  search.options.progress = [&](const KernelResult&) { interrupted = true; };
  KernelResult result = tune_kernel(search.device, search.tasks[0], search.options);
  EXPECT_EQ(result.tried, 1u);
  EXPECT_TRUE(result.record);  // of what is known
  interrupted = false;
  search.options.progress = nullptr;
  search.options.deadline = std::chrono::steady_clock::now();
  result = tune_kernel(search.device, search.tasks[0], search.options);
  EXPECT_EQ(result.tried, 0u);
  EXPECT_EQ(result.record->best, result.default_config);
}

TEST(TuneTest, VulkanCandidatesAreRightAndTheRecordIsUsed) {
  auto device = vulkan();
  if (!device) GTEST_SKIP() << "no Vulkan device";
  Search search(device);
  search.options.trials = 4;
  KernelResult result = tune_kernel(device, search.tasks[0], search.options);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.tried, 4u);
  EXPECT_EQ(result.failed, 0u) << result.first_failure;
  EXPECT_EQ(result.wrong, 0u) << result.first_wrong;
  ASSERT_TRUE(result.record);
  EXPECT_LE(result.best_seconds, result.default_seconds);
  RecordStore store;
  store.add(*result.record);
  auto choice =
      store.choose(*search.tasks[0].kernel_template, *search.tasks[0].region, device->target());
  EXPECT_EQ(choice.tier, sched::Tier::exact);
  EXPECT_EQ(choice.config, result.record->best);
}

}  // namespace
}  // namespace tcc::autotune
