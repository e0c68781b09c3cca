// Attention on software devices: lengths, depths, layouts, and expressions of scores.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "scheduler/tuning.h"
#include "tests/draws.h"
#include "tests/random_attention.h"
#include "tests/unit/attention_cases.h"
#include "tests/unit/attention_lists.h"

namespace tcc {
namespace {

class AttentionOf : public ::testing::TestWithParam<test::AttentionCase> {};

// Products of one query take a CPU as long by gemv, so that estimates may decide for them.
TEST_P(AttentionOf, IsOneKernelAndRight) {
  ::setenv("TCC_TEMPLATES", "-gemv", 1);
  for (const std::string& device : test::devices_present(test::Devices::software))
    EXPECT_EQ(test::check_attention(GetParam(), device), "") << device;
  ::unsetenv("TCC_TEMPLATES");
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionOf, ::testing::ValuesIn(test::attention_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Attention, IsRightWhateverTheGraph) {
  test::check_random_attention(test::Devices::software, 12);
}

TEST(Attention, IsRightAtSizesOfRunTime) {
  for (const std::string& device : test::devices_present(test::Devices::software))
    test::check_random_open_attention(test::open_once(device), test::open_once(device)->target(),
                                      12, {"attention"});
}

// One kernel would take longer, by its estimate, but the scores of others are 32 GiB, or 16 of
// bf16, which casts read.
TEST(Attention, KeepsNoScoresThatAreLargerThanAllElse) {
  const auto launches = [](int64_t length, const char* type, int64_t depth, const char* target) {
    const std::string operand =
        str(": {dtype: ", type, ", shape: [1, 32, ", length, ", ", depth, "]}\n");
    backends::CompileOptions options;
    options.binaries = false;
    return backends::compile(
               parse_yaml_graph(
                   str("tcc: 1\nname: g\ninputs:\n  q", operand, "  k", operand, "  v", operand,
                       "nodes:\n  - {out: y, op: scaled_dot_product_attention, in: "
                       "[q, k, v]}\noutputs: [y]\n"),
                   "g.yaml", "."),
               sched::target_by_name(target), options)
        .kernels.size();
  };
  EXPECT_EQ(launches(1024, "f32", 64, "cuda:sm_90a"), 3u);
  EXPECT_EQ(launches(16384, "f32", 64, "cuda:sm_90a"), 1u);
  EXPECT_EQ(launches(1024, "bf16", 256, "vulkan:nvidia-rtx"), 3u);
  EXPECT_EQ(launches(16384, "bf16", 256, "vulkan:nvidia-rtx"), 1u);
}

TEST(Attention, CombinesPartsOfKeys) {
  test::OneOf cases(5);
  for (const test::AttentionCase& c : test::attention_cases()) {
    if (c.name != "f32_1x8o2x1x300x128x128" && c.name != "f32_1x2o1x16x129x128x64" &&
        c.name != "f32_1x2o2x33x65x40x40_causal" && c.name != "f32_1x2o1x16x129x128x64_causal")
      continue;
    const ir::Graph graph = test::attention_graph(c);
    const std::vector<Tensor> inputs = test::draw_inputs(graph, {});
    for (const std::string& device : test::devices_present(test::Devices::software))
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        if (!cases.takes_next()) continue;
        const test::ConfigsWith configs("split_keys", 2, seed);
        backends::CompileOptions options;
        options.configs = &configs;
        EXPECT_EQ(test::difference(graph, device, inputs, options), "") << c.name << " " << seed;
      }
  }
}

// Random masks of blocks empty tiles. A list says which.
TEST(Attention, SkipsListedTiles) {
  ::setenv("TCC_TEMPLATES", "-contraction", 1);
  for (const test::AttentionCase& c : test::attention_cases_of_lists("f32"))
    for (const std::string& device : test::devices_present(test::Devices::software))
      EXPECT_EQ(test::check_lists(c, device, test::draws(3u, 1u)), "") << c.name;
  ::unsetenv("TCC_TEMPLATES");
}

}  // namespace
}  // namespace tcc
