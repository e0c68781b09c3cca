// Kernels that memory bounds: how few launches and stored bytes the bench cases take, and that
// their templates' mechanisms are right whatever the config.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/template.h"
#include "tests/draws.h"
#include "tests/run_graph.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

struct Case {
  std::string graph;  // below bench/cases
  std::map<std::string, int64_t, std::less<>> dims = {};
};
// The suites' bandwidth and long-rows (bench/suites).
const std::vector<Case> kOneLaunch = {{"pointwise"},
                                      {"bias-gelu"},
                                      {"softmax"},
                                      {"softmax", {{"M", 65536}, {"N", 512}}},
                                      {"layer-norm", {{"M", 16384}, {"N", 4096}}},
                                      {"layer-norm", {{"M", 4096}, {"N", 768}}},
                                      {"add-rms-norm"},
                                      {"softmax", {{"M", 64}, {"N", 131072}}},
                                      {"softmax", {{"M", 16}, {"N", 262144}}},
                                      {"layer-norm", {{"M", 128}, {"N", 65536}}},
                                      {"transpose"}};
const std::vector<Case> kTwoLaunches = {{"sum"}, {"column-sum"}, {"cross-entropy"}};

exec::Executable compile_case(const Case& c) {
  const ir::Graph graph = load_graph(testing::source_dir() / "bench/cases" / (c.graph + ".yaml"));
  backends::CompileOptions options;
  options.dims = c.dims;
  options.dtype = DType::bf16;
  options.binaries = false;
  return backends::compile(graph, sched::target_by_name("cuda:sm_90a"), options);
}

TEST(MemoryBound, OneLaunchAndNothingStoredBetween) {
  for (const Case& c : kOneLaunch) {
    const exec::Executable executable = compile_case(c);
    EXPECT_EQ(executable.steps.size(), 1u) << c.graph;
    EXPECT_EQ(executable.arena_bytes, 0) << c.graph;
  }
}

// The second launch sums what the first one's workgroups, or rows, have found.
TEST(MemoryBound, SplitReductionsAndLossesTakeTwoLaunches) {
  for (const Case& c : kTwoLaunches) {
    const exec::Executable executable = compile_case(c);
    EXPECT_EQ(executable.steps.size(), 2u) << c.graph;
    EXPECT_LE(executable.arena_bytes.value(), 2 << 20) << c.graph;
  }
}

TEST(MemoryBound, AccessesAreSixteenBytesWide) {
  for (const std::vector<Case>* cases : {&kOneLaunch, &kTwoLaunches})
    for (const Case& c : *cases)
      EXPECT_NE(compile_case(c).kernels[0].source.find("(const uint4*)b"), std::string::npos)
          << c.graph;
}

// Every `step`-th legal config of the graph's template, on every software device.
void expect_right(const std::string& graph_text, size_t step, const test::DrawOptions& draw = {}) {
  const ir::Graph graph = parse_yaml_graph(graph_text, "g.yaml", ".");
  const std::vector<Tensor> inputs = test::draw_inputs(graph, draw);
  for (const std::string& device : test::devices_present(test::Devices::software)) {
    const sched::Target target = runtime::open_device(device)->target();
    const backends::Scheduled scheduled = backends::schedule(graph, target);
    size_t number = 0;
    const sched::ConfigSpace& space = scheduled.regions.front().candidate().space();
    test::OneOf cases(3);
    space.enumerate([&](const sched::Config& config) {
      if (number++ % step != 0 || !cases.takes_next()) return true;
      const sched::FixedConfig fixed(config);
      backends::CompileOptions options;
      options.configs = &fixed;
      EXPECT_EQ(test::difference(graph, device, inputs, options), "")
          << device << " " << config.to_string();
      return true;
    });
    EXPECT_GE(number, 2 * step);
  }
}

TEST(MemoryBound, OnlineSoftmax) {
  expect_right(
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [6, 520]}, t: {dtype: i64, shape: [6], range: [0, "
      "520]}}\nnodes:\n  - {out: y, op: cross_entropy, in: [x, t], reduction: none}\noutputs: "
      "[y]\n",
      11);
  expect_right(
      "tcc: 1\ninputs: {x: {dtype: bf16, shape: [5, 264]}}\nnodes:\n  - {out: y, op: softmax, in: "
      "[x], dim: -1}\noutputs: [y]\n",
      11, {.lo = -90, .hi = 90});
}

TEST(MemoryBound, NormsThatLoadEarly) {
  expect_right(
      "tcc: 1\ninputs: {x: {dtype: bf16, shape: [5, 264]}, w: {dtype: bf16, shape: [264]}, b: "
      "{dtype: bf16, shape: [264]}}\nnodes:\n  - {out: y, op: layer_norm, in: [x, w, b], "
      "normalized_shape: [264]}\noutputs: [y]\n",
      13);
}

TEST(MemoryBound, ColumnsInVectors) {
  expect_right(
      "tcc: 1\ninputs: {x: {dtype: bf16, shape: [37, 48]}}\nnodes:\n  - {out: s, op: sum, in: [x], "
      "dim: 0}\n  - {out: y, op: mul, in: [s, 0.5]}\noutputs: [y]\n",
      11);
  // Several stages, and outputs as large as the input.
  expect_right(
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [37, 48]}}\nnodes:\n  - {out: y, op: softmax, in: "
      "[x], dim: 0}\noutputs: [y]\n",
      17);
}

TEST(MemoryBound, TransposesInVectors) {
  const std::pair<const char*, const char*> shapes[] = {{"72, 96", "96, 72"}, {"40, 33", "33, 40"}};
  for (const auto& [shape, transposed] : shapes)
    expect_right(str("tcc: 1\ninputs: {x: {dtype: bf16, shape: [", shape,
                     "]}, z: {dtype: bf16, shape: [", transposed,
                     "]}}\nnodes:\n  - {out: t, op: transpose, in: [x], dim0: 0, dim1: 1}\n  - "
                     "{out: y, op: add, in: [t, z]}\noutputs: [y]\n"),
                 2);
}

// A row of nothing but -inf has no softmax, and -inf among others changes nothing.
TEST(MemoryBound, OnlineSoftmaxOfInfinities) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [4, 600]}}\nnodes:\n  - {out: y, op: softmax, in: "
      "[x], dim: -1}\noutputs: [y]\n",
      "g.yaml", ".");
  std::vector<Tensor> inputs = test::draw_inputs(graph, {});
  const auto x = inputs[0].as<float>();
  for (size_t i = 0; i < 600; ++i) x[i] = -INFINITY;
  for (size_t i = 600; i < 1100; ++i) x[i] = -INFINITY;
  x[1900] = INFINITY;
  for (const std::string& device : test::devices_present(test::Devices::software))
    for (const int64_t threads : {1, 8, 32}) {
      const sched::FixedConfig fixed(
          {{"row_threads", threads}, {"rows", 32 / threads}, {"vector", 4}, {"keep", 0}});
      backends::CompileOptions options;
      options.configs = &fixed;
      EXPECT_EQ(test::difference(graph, device, inputs, options), "") << device << " " << threads;
    }
}

}  // namespace
}  // namespace tcc
