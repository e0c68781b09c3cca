// Rows that the workgroups of a cluster share, against the reference: types, odd lengths, ranks
// without a column, NaN and infinities, several reductions at once, indices.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "frontend/graph_file.h"
#include "ir/reference/compare.h"
#include "ir/reference/interpreter.h"
#include "scheduler/template.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc {
namespace {

using Poke = std::function<void(Tensor&)>;

ir::Graph graph_of(const std::string& dtype, int64_t rows, int64_t cols, const std::string& nodes) {
  const std::string text =
      str("tcc: 1\ninputs:\n  x: {dtype: ", dtype, ", shape: [", rows, ", ", cols,
          "]}\n  w: {dtype: ", dtype, ", shape: [", cols, "]}\n  t: {dtype: i64, shape: [", rows,
          "], range: [0, ", cols, "]}\nnodes:\n", nodes);
  return parse_yaml_graph(text, "long-rows.yaml", ".");
}

std::string device_with_clusters() {
  for (const std::string& device : test::devices_present(test::Devices::gpu))
    if (test::open_once(device)->target().max_cluster > 1) return device;
  return "";
}

// For the kernel with clusters in its space, the config; for others their default.
class ClusterConfig : public sched::ConfigSource {
 public:
  explicit ClusterConfig(sched::Config config) : fixed_(std::move(config)) {}
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    const sched::ConfigChoice choice = fixed_.choose(candidate);
    used_ += choice.tier == sched::Tier::exact;
    return choice;
  }
  int used() const { return used_; }

 private:
  sched::FixedConfig fixed_;
  mutable int used_ = 0;
};

// Gives what the graph computes of the inputs, worked out once.
class Expected {
 public:
  Expected(const ir::Graph& graph, std::span<const Tensor> inputs)
      : graph_(graph), inputs_(inputs) {
    std::vector<ir::RefTensor> given;
    for (const Tensor& tensor : inputs) given.push_back(ir::to_ref(tensor));
    ideal_ = ir::interpret(graph, given, ir::RefMode::ideal);
    stepwise_ = ir::interpret(graph, given, ir::RefMode::stepwise);
  }

  // "" or what is wrong on the device.
  std::string difference(const std::string& device, const backends::CompileOptions& options) const {
    const std::vector<Tensor> outputs = test::run_on_device(graph_, device, inputs_, options);
    std::string text;
    for (size_t i = 0; i < ideal_.size(); ++i) {
      const ir::Comparison result = ir::compare(ir::to_ref(outputs.at(i)), ideal_[i], stepwise_[i]);
      if (!result.pass) text += str("output ", graph_.output_names[i], ": ", result.reason, "\n");
    }
    return text;
  }

 private:
  const ir::Graph& graph_;
  std::span<const Tensor> inputs_;
  std::vector<ir::RefTensor> ideal_, stepwise_;
};

void expect_right(const ir::Graph& graph, const std::vector<sched::Config>& configs,
                  const test::DrawOptions& draw = {}, const Poke& poke = {}) {
  const std::string device = device_with_clusters();
  if (device.empty()) GTEST_SKIP() << "no device with clusters";
  std::vector<Tensor> inputs = test::draw_inputs(graph, draw);
  if (poke) poke(inputs[0]);
  const Expected expected(graph, inputs);
  EXPECT_EQ(expected.difference(device, {}), "") << "the default";
  for (const sched::Config& config : configs) {
    const ClusterConfig fixed(config);
    backends::CompileOptions options;
    options.configs = &fixed;
    EXPECT_EQ(expected.difference(device, options), "") << config.to_string();
    EXPECT_GT(fixed.used(), 0) << config.to_string() << " is not legal";
  }
}

sched::Config config_of(int64_t cluster, int64_t row_threads, int64_t vector, int64_t keep) {
  return {{"cluster", cluster},
          {"row_threads", row_threads},
          {"rows", 1},
          {"vector", vector},
          {"keep", keep}};
}

const char* const kSoftmax = "  - {out: y, op: softmax, in: [x], dim: -1}\noutputs: [y]\n";
const char* const kLogSoftmax = "  - {out: y, op: log_softmax, in: [x], dim: -1}\noutputs: [y]\n";
const char* const kLoss =
    "  - {out: y, op: cross_entropy, in: [x, t], reduction: none}\noutputs: [y]\n";

TEST(LongRows, SoftmaxOfEveryType) {
  for (const char* dtype : {"f32", "bf16", "f16"})
    for (const int64_t cols : {16384, 33333, 70000}) {
      const int64_t vector = cols % 8 == 0 ? 4 : 1;
      expect_right(graph_of(dtype, 3, cols, kSoftmax),
                   {config_of(2, 512, vector, 0), config_of(4, 256, vector, 0),
                    config_of(8, 512, vector, 1)},
                   {.lo = -30, .hi = 30});
    }
}

TEST(LongRows, LogSoftmaxAndLosses) {
  expect_right(graph_of("bf16", 5, 40001, kLogSoftmax),
               {config_of(2, 1024, 1, 0), config_of(8, 512, 1, 1)});
  expect_right(graph_of("bf16", 5, 65536, kLoss),
               {config_of(2, 512, 8, 0), config_of(4, 256, 8, 0), config_of(8, 512, 8, 1)});
  expect_right(graph_of("f32", 2, 100003, kLoss),
               {config_of(4, 128, 1, 0), config_of(8, 512, 1, 1)});
}

TEST(LongRows, Norms) {
  for (const char* dtype : {"f32", "bf16", "f16"}) {
    const std::string shape = "normalized_shape: [24576]";
    expect_right(
        graph_of(dtype, 7, 24576,
                 "  - {out: y, op: layer_norm, in: [x, w, w], " + shape + "}\noutputs: [y]\n"),
        {config_of(2, 512, 4, 1), config_of(4, 512, 4, 2), config_of(8, 128, 4, 1),
         config_of(8, 512, 2, 2), config_of(8, 256, 8, 0)});
    expect_right(graph_of(dtype, 7, 24576,
                          "  - {out: y, op: rms_norm, in: [x, w], " + shape + "}\noutputs: [y]\n"),
                 {config_of(2, 512, 4, 1), config_of(8, 256, 4, 2)});
  }
}

// 1025 vectors for 2048 threads: the last ranks have none.
TEST(LongRows, RanksWithoutColumns) {
  for (const int64_t keep : {0, 1})
    for (const char* nodes : {kSoftmax, kLogSoftmax, kLoss})
      expect_right(graph_of("f32", 3, 8200, nodes), {config_of(8, 256, 8, keep)},
                   {.lo = -4, .hi = -3});
}

// Infinities and NaN in one rank's columns, or in all of a row.
TEST(LongRows, NanAndInfinities) {
  constexpr int64_t kCols = 20000;
  const auto poke = [](Tensor& x) {
    const auto values = x.as<float>();
    const float inf = std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < kCols; ++i) values[i] = -inf;              // no softmax
    for (int64_t i = 0; i < kCols / 2; ++i) values[kCols + i] = -inf;  // of some ranks alone
    values[3 * kCols - 1] = inf;
    values[3 * kCols + 7777] = NAN;
    values[5 * kCols - 5] = -inf;
  };
  for (const char* nodes : {kSoftmax, kLogSoftmax, kLoss})
    expect_right(graph_of("f32", 5, kCols, nodes),
                 {config_of(2, 256, 4, 0), config_of(8, 128, 8, 0), config_of(8, 512, 4, 1)}, {},
                 poke);
}

TEST(LongRows, SeveralReductionsAndIndices) {
  const std::string scaled = "  - {out: s, op: mul, in: [x, 0.5]}\n";  // in the kernel of all
  const std::string statistics = scaled +
                                 "  - {out: y, op: softmax, in: [s], dim: -1}\n"
                                 "  - {out: top, op: amax, in: [s], dim: -1}\n"
                                 "  - {out: low, op: amin, in: [s], dim: -1}\n"
                                 "  - {out: mean, op: mean, in: [s], dim: -1}\n"
                                 "outputs: [y, top, low, mean]\n";
  const std::string index = scaled +
                            "  - {out: y, op: log_softmax, in: [s], dim: -1}\n"
                            "  - {out: top, op: argmax, in: [s], dim: -1}\noutputs: [y, top]\n";
  for (const char* dtype : {"f32", "bf16"}) {
    expect_right(graph_of(dtype, 4, 30000, statistics),
                 {config_of(4, 512, 4, 1), config_of(8, 256, 2, 0)});
    expect_right(graph_of(dtype, 4, 30000, index),
                 {config_of(4, 512, 4, 1), config_of(8, 256, 2, 0)});
    expect_right(
        graph_of(dtype, 2, 50001, "  - {out: y, op: argmin, in: [x], dim: -1}\noutputs: [y]\n"),
        {config_of(2, 512, 1, 0), config_of(8, 512, 1, 0)});
  }
  // Equal values: the first index wins, whichever rank has it.
  expect_right(
      graph_of("f32", 3, 20000, "  - {out: y, op: argmax, in: [x], dim: -1}\noutputs: [y]\n"),
      {config_of(2, 512, 4, 0), config_of(8, 128, 1, 0)}, {.lo = 1, .hi = 1});
  expect_right(
      graph_of("f32", 3, 20000,
               "  - {out: p, op: gt, in: [x, 1.99]}\n  - {out: y, op: any, in: [p], dim: -1}\n"
               "outputs: [y]\n"),
      {config_of(4, 256, 4, 0)});
}

// Whatever is legal.
TEST(LongRows, RandomConfigs) {
  const std::string device = device_with_clusters();
  if (device.empty()) GTEST_SKIP() << "no device with clusters";
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const test::RandomConfigs configs(seed);
    const int64_t cols = 9001 + static_cast<int64_t>(seed * seed * 131 % 60000);
    const ir::Graph graph = graph_of(seed % 2 ? "bf16" : "f32", 1 + static_cast<int64_t>(seed % 5),
                                     seed % 3 ? cols / 8 * 8 : cols, seed % 4 ? kSoftmax : kLoss);
    backends::CompileOptions options;
    options.configs = &configs;
    EXPECT_EQ(test::difference(graph, device, test::draw_inputs(graph, {.seed = seed}), options),
              "")
        << seed;
  }
}

// The same bits from run to run, on a device full of clusters: nothing is read before it is there,
// and no workgroup's memory is gone before it was read.
TEST(LongRows, AreDeterministic) {
  const std::string device = device_with_clusters();
  if (device.empty()) GTEST_SKIP() << "no device with clusters";
  const ir::Graph graph = graph_of("f32", 250, 16384, kSoftmax);
  const std::vector<Tensor> inputs = test::draw_inputs(graph, {});
  for (const sched::Config& config : {config_of(8, 256, 4, 1), config_of(2, 512, 4, 0)}) {
    const sched::FixedConfig fixed(config);
    backends::CompileOptions options;
    options.configs = &fixed;
    const std::shared_ptr<runtime::Device> opened = test::open_once(device);
    runtime::Context context(std::make_shared<const runtime::Program>(
        opened, backends::compile(graph, opened->target(), options)));
    const std::vector<Tensor> first = context.run(inputs);
    for (int i = 0; i < 20; ++i) {
      const std::vector<Tensor> again = context.run(inputs);
      EXPECT_EQ(std::memcmp(first[0].data(), again[0].data(), first[0].bytes()), 0) << i;
    }
  }
}

}  // namespace
}  // namespace tcc
