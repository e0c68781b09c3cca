// Attention on GPUs: what attention_test.cpp runs on software devices, and the same in 16 bits, by
// whichever kernels are fastest there, and by those of the same templates with random configs.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tests/random_attention.h"
#include "tests/random_configs.h"
#include "tests/unit/attention_cases.h"

namespace tcc {
namespace {

class AttentionOnGpu : public ::testing::TestWithParam<test::AttentionCase> {};

TEST_P(AttentionOnGpu, IsRight) {
  const ir::Graph graph = test::attention_graph(GetParam());
  const std::vector<Tensor> inputs = test::draw_inputs(graph, {});
  for (const std::string& device : test::devices_present(test::Devices::gpu)) {
    EXPECT_EQ(test::difference(graph, device, inputs, {}), "") << device;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const test::RandomConfigs configs(seed);
      backends::CompileOptions options;
      options.configs = &configs;
      EXPECT_EQ(test::difference(graph, device, inputs, options), "") << device << " " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionOnGpu, ::testing::ValuesIn(test::attention_cases()),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(In16Bits, AttentionOnGpu,
                         ::testing::ValuesIn(test::attention_cases_of_16_bits()),
                         [](const auto& test) { return test.param.name; });

TEST(RandomAttentionOnGpu, IsRightWhateverTheGraph) {
  test::check_random_attention(test::Devices::gpu, 60);
}

}  // namespace
}  // namespace tcc
