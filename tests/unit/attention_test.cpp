// Attention on software devices: lengths, depths, layouts, and expressions of scores.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tests/unit/attention_cases.h"

namespace tcc {
namespace {

class Attention : public ::testing::TestWithParam<test::AttentionCase> {};

TEST_P(Attention, IsOneKernelAndRight) {
  for (const std::string& device : test::devices_present(test::Devices::software))
    EXPECT_EQ(test::check_attention(GetParam(), device), "") << device;
}

INSTANTIATE_TEST_SUITE_P(Cases, Attention, ::testing::ValuesIn(test::attention_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tcc
