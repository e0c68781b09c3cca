// Reductions whose rows the workgroups of a cluster share: where that is legal and chosen, what it
// compiles to, and that other rows stay as they are.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/template.h"
#include "tests/cubin.h"
#include "tests/draws.h"
#include "tests/random_configs.h"
#include "tests/unit/search_fixture.h"

namespace tcc::autotune {
namespace {

const char* const kHopper = "cuda:sm_90a";
const char* const kSoftmax = "op: softmax, in: [x], dim: -1";

std::string rows_of(int64_t rows, int64_t cols, const std::string& dtype = "bf16") {
  return str("x: {dtype: ", dtype, ", shape: [", rows, ", ", cols, "]}");
}

std::vector<int64_t> clusters_of(const sched::ConfigSpace& space) {
  for (const sched::Parameter& parameter : space.parameters)
    if (parameter.name == "cluster") return parameter.values;
  return {};
}

sched::Config config_of(int64_t cluster, int64_t row_threads, int64_t rows, int64_t vector,
                        int64_t keep) {
  return {{"cluster", cluster},
          {"row_threads", row_threads},
          {"rows", rows},
          {"vector", vector},
          {"keep", keep}};
}

size_t launches_of(const std::string& inputs, const std::string& node, const char* target) {
  return TemplateCase(inputs, node, target).scheduled.regions.size();
}

size_t count(const std::string& text, std::string_view word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(ClusterReductions, OnlyWhereTheTargetHasThem) {
  EXPECT_EQ(clusters_of(TemplateCase(rows_of(64, 131072), kSoftmax, kHopper).space),
            (std::vector<int64_t>{1, 2, 4, 8}));
  for (const char* target :
       {"cuda:sm_80", "cuda:sm_89", "cuda:sm_120", "vulkan", "vulkan:lavapipe"})
    EXPECT_TRUE(clusters_of(TemplateCase(rows_of(64, 131072), kSoftmax, target).space).empty())
        << target;
}

// Records of other rows stay valid: their space has no new parameter.
TEST(ClusterReductions, OnlyForRowsThatAreLongOrFew) {
  auto has = [](int64_t rows, int64_t cols, const char* node) {
    return !clusters_of(TemplateCase(rows_of(rows, cols), node, kHopper).space).empty();
  };
  EXPECT_FALSE(has(8192, 8192, kSoftmax));
  EXPECT_FALSE(has(16, 4096, kSoftmax));
  EXPECT_FALSE(has(512, 32768, "op: sum, in: [x], dim: 1")) << "read once, and the device is full";
  EXPECT_FALSE(has(131072, 64, "op: softmax, in: [x], dim: 0")) << "rows that are not contiguous";
  EXPECT_TRUE(has(512, 32768, kSoftmax));
  EXPECT_TRUE(has(16, 16384, kSoftmax));
  EXPECT_TRUE(has(4, 131072, "op: argmax, in: [x], dim: 1"));
}

TEST(ClusterReductions, Constraints) {
  const TemplateCase made(rows_of(64, 131072), kSoftmax, kHopper);
  auto legal = [&](const sched::Config& config) { return made.space.violation(config).empty(); };
  EXPECT_TRUE(legal(config_of(8, 512, 1, 8, 1)));
  EXPECT_TRUE(legal(config_of(8, 256, 1, 8, 1)));
  EXPECT_TRUE(legal(config_of(2, 1024, 1, 8, 0)));
  EXPECT_TRUE(legal(config_of(1, 1024, 1, 8, 0)));
  EXPECT_TRUE(legal(config_of(4, 1024, 1, 8, 1))) << "32 columns a thread";
  EXPECT_FALSE(legal(config_of(2, 1024, 1, 8, 1))) << "64 columns of 1024 threads";
  EXPECT_FALSE(legal(config_of(4, 256, 1, 8, 1))) << "128 columns a thread";
  EXPECT_FALSE(legal(config_of(8, 512, 2, 8, 0))) << "two rows";
  EXPECT_FALSE(legal(config_of(8, 64, 1, 8, 0))) << "few threads";
  EXPECT_FALSE(legal({{"row_threads", 1024}, {"rows", 1}, {"vector", 8}, {"keep", 0}}));
  const TemplateCase shorter(rows_of(64, 9000), kSoftmax, kHopper);
  EXPECT_TRUE(shorter.space.violation(config_of(8, 256, 1, 8, 1)).empty());
  EXPECT_FALSE(shorter.space.violation(config_of(8, 512, 1, 8, 1)).empty())
      << "more threads than vectors in the row";
}

TEST(ClusterReductions, DefaultsKeepTheRowAndFillTheDevice) {
  struct Case {
    int64_t rows, cols;
    const char* dtype;
    int64_t cluster, row_threads, keep;
  };
  for (const Case& c : std::initializer_list<Case>{{64, 131072, "bf16", 8, 512, 1},
                                                   {256, 65536, "bf16", 8, 128, 1},
                                                   {16, 262144, "bf16", 8, 512, 1},
                                                   {64, 131072, "f32", 8, 512, 1},
                                                   {256, 65536, "f32", 4, 512, 1},
                                                   {16, 262144, "f32", 8, 512, 1},
                                                   {8192, 131072, "bf16", 8, 512, 1},
                                                   {16, 16384, "bf16", 4, 128, 1},
                                                   {2000, 32768, "bf16", 2, 512, 1}}) {
    const TemplateCase made(rows_of(c.rows, c.cols, c.dtype), kSoftmax, kHopper);
    EXPECT_EQ(made.space.violation(made.default_config), "");
    EXPECT_EQ(made.default_config["cluster"], c.cluster) << c.rows << " " << c.cols;
    EXPECT_EQ(made.default_config["row_threads"], c.row_threads) << c.rows << " " << c.cols;
    EXPECT_EQ(made.default_config["keep"], c.keep) << c.rows << " " << c.cols;
  }
  // Odd lengths, and everything else that a default could break on.
  for (const int64_t rows : {1, 3, 33, 140, 700})
    for (const int64_t cols : {8192, 8193, 16390, 50257, 131071, 262144, 262147, 1000003})
      for (const char* node :
           {kSoftmax, "op: argmax, in: [x], dim: 1", "op: amax, in: [x], dim: 1"}) {
        const TemplateCase made(rows_of(rows, cols), node, kHopper);
        EXPECT_EQ(made.space.violation(made.default_config), "")
            << rows << " " << cols << " " << node;
      }
}

TEST(ClusterReductions, TheModelPrefersThemForLongRows) {
  const TemplateCase made(rows_of(64, 131072), kSoftmax, kHopper);
  EXPECT_LT(made.model(config_of(8, 512, 1, 8, 1)), made.model(config_of(1, 1024, 1, 8, 0)));
  EXPECT_LT(made.model(config_of(8, 512, 1, 8, 1)), made.model(config_of(2, 1024, 1, 8, 0)));
  EXPECT_LT(made.model(config_of(8, 512, 1, 8, 1)), made.model(config_of(8, 512, 1, 1, 1)));
  const TemplateCase few(rows_of(16, 16384), kSoftmax, kHopper);
  EXPECT_LT(few.model(config_of(8, 128, 1, 8, 1)) / few.model(config_of(1, 512, 1, 8, 1)), 1.2);
}

TEST(ClusterReductions, RowsAreReadOnceInOneLaunch) {
  for (const char* node : {kSoftmax, "op: log_softmax, in: [x], dim: -1"})
    for (const auto& [rows, cols] : {std::pair(16, 262144), {4, 131072}, {1, 131072}, {33, 200001}})
      EXPECT_EQ(launches_of(rows_of(rows, cols), node, kHopper), 1u) << rows << " " << cols;
  EXPECT_EQ(launches_of("x: {dtype: bf16, shape: [4, 65536]}, w: {dtype: bf16, shape: [65536]}",
                        "op: layer_norm, in: [x, w], normalized_shape: [65536]", kHopper),
            1u);
  EXPECT_EQ(launches_of(rows_of(16, 262144), "op: sum, in: [x], dim: 1", kHopper), 1u);
  // The device is busy with 64 rows that take little arithmetic.
  EXPECT_EQ(TemplateCase(rows_of(64, 65536), "op: sum, in: [x], dim: 1", kHopper)
                .default_config["cluster"],
            1);
  EXPECT_EQ(TemplateCase(rows_of(64, 65536), "op: argmax, in: [x], dim: 1", kHopper)
                .default_config["cluster"],
            4);
}

TEST(ClusterReductions, OthersAreCutAsBefore) {
  EXPECT_EQ(launches_of(rows_of(1, 1 << 24), "op: sum, in: [x]", kHopper), 2u) << "all elements";
  EXPECT_EQ(launches_of(rows_of(1, 1 << 22), "op: sum, in: [x]", kHopper), 2u);
  EXPECT_EQ(launches_of(rows_of(1, 131072), "op: sum, in: [x]", kHopper), 1u) << "a cluster's row";
  EXPECT_EQ(launches_of(rows_of(4, 1 << 20), kSoftmax, kHopper), 5u) << "too long for a cluster";
  EXPECT_EQ(launches_of(rows_of(16, 262144), kSoftmax, "cuda:sm_80"), 5u);
  EXPECT_EQ(
      launches_of("x: {dtype: bf16, shape: [131072, 4]}", "op: softmax, in: [x], dim: 0", kHopper),
      launches_of("x: {dtype: bf16, shape: [131072, 4]}", "op: softmax, in: [x], dim: 0",
                  "cuda:sm_80"));
}

std::string legalized(const TemplateCase& made, const sched::Config& config) {
  return to_string(legalize(made.candidate().lower(config).only(), made.target));
}

// A maximum and its sum of exponentials take one exchange together, dependent reductions one each.
TEST(ClusterReductions, OneExchangeEach) {
  const TemplateCase made(rows_of(64, 131072), kSoftmax, kHopper);
  for (const int64_t keep : {0, 1}) {
    const std::string text = legalized(made, config_of(8, 512, 1, 8, keep));
    EXPECT_NE(text.find("grid 512 workgroup 512 cluster 8"), std::string::npos) << text;
    EXPECT_EQ(count(text, "exchanges[0] expects 64 bytes\n"), 1u);
    EXPECT_EQ(count(text, "exchanges[0] sends"), 2u);
    EXPECT_EQ(count(text, "exchanges[0] waits"), 1u);
    EXPECT_EQ(count(text, "exchanges[1]"), 0u);
    // All expect before any sends.
    EXPECT_EQ(count(text, "cluster arrive"), 1u);
    EXPECT_EQ(count(text, "cluster wait"), 1u);
    EXPECT_LT(text.find("expects"), text.find("cluster arrive"));
    EXPECT_LT(text.find("cluster arrive"), text.find("cluster wait"));
    EXPECT_LT(text.find("cluster wait"), text.find("sends"));
  }
  EXPECT_EQ(count(legalized(made, config_of(1, 1024, 1, 8, 0)), "cluster"), 0u);
  const TemplateCase norm(rows_of(64, 65536) + ", w: {dtype: bf16, shape: [65536]}",
                          "op: layer_norm, in: [x, w], normalized_shape: [65536]", kHopper);
  const std::string text = legalized(norm, config_of(8, 512, 1, 8, 1));
  for (const char* exchange : {"exchanges[0] waits", "exchanges[1] waits"})
    EXPECT_EQ(count(text, exchange), 1u);
  EXPECT_EQ(count(text, " waits"), 2u);
  // An index is sent with its value, 8 and 2 bytes: as words.
  const TemplateCase index(rows_of(4, 131072), "op: argmax, in: [x], dim: 1", kHopper);
  EXPECT_NE(legalized(index, config_of(4, 512, 1, 8, 0)).find("exchanges[0] expects 48 bytes"),
            std::string::npos);
}

TEST(ClusterReductions, TargetsWithoutThemRefuse) {
  const TemplateCase made(rows_of(64, 131072), kSoftmax, kHopper);
  sched::Target smaller = made.target;
  smaller.max_cluster = 4;
  const sched::Kernel kernel = made.candidate().lower(config_of(8, 512, 1, 8, 1)).only();
  EXPECT_NO_THROW(legalize(kernel, made.target));
  EXPECT_THROW(legalize(kernel, smaller), Error);
}

TEST(ClusterReductions, CompileWithoutSpills) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  const sched::Target target = sched::target_by_name(kHopper);
  const std::string weights = ", w: {dtype: bf16, shape: [65536]}";
  const std::pair<std::string, std::string> cases[] = {
      {rows_of(64, 131072), kSoftmax},
      {rows_of(16, 262144), kSoftmax},
      {rows_of(16, 262144, "f32"), kSoftmax},
      {rows_of(100, 33333, "f16"), "op: log_softmax, in: [x], dim: -1"},
      {rows_of(128, 65536) + weights, "op: layer_norm, in: [x, w, w], normalized_shape: [65536]"},
      {rows_of(128, 65536) + weights, "op: rms_norm, in: [x, w], normalized_shape: [65536]"},
      {rows_of(4, 131072), "op: argmax, in: [x], dim: 1"}};
  const size_t step = test::draws_all() ? 11 : 33;
  for (const auto& [inputs, node] : cases) {
    const TemplateCase made(inputs, node, kHopper);
    std::vector<sched::Config> configs = {made.default_config};
    size_t number = 0;
    made.space.enumerate([&](const sched::Config& config) {
      if (config["cluster"] > 1 && config["keep"] != 0 && number++ % step == 0)
        configs.push_back(config);
      return true;
    });
    EXPECT_GT(configs.size(), 1u);
    for (const sched::Config& config : configs) {
      const sched::FixedConfig fixed(config);
      backends::CompileOptions options;
      options.configs = &fixed;
      const auto graph =
          parse_yaml_graph("tcc: 1\nname: rows\ninputs: {" + inputs + "}\nnodes:\n  - {out: y, " +
                               node + "}\noutputs: [y]\n",
                           "rows.yaml", ".");
      const exec::KernelBinary kernel = backends::compile(graph, target, options).kernels.at(0);
      EXPECT_EQ(kernel.tier, "exact");
      EXPECT_EQ(test::frame_bytes(kernel.code), 0) << node << " " << kernel.config;
    }
  }
}

}  // namespace
}  // namespace tcc::autotune
