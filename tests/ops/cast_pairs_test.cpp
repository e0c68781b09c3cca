// Casts between all pairs of element types, at the ends of their ranges.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/builder.h"
#include "tests/run_graph.h"

namespace tcc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Gives those of these numbers that the type holds, and its own ends.
Tensor edges(DType dtype) {
  if (is_float(dtype)) {
    // 65504 is the largest f16, 65520 rounds to infinity; 3e38 is one in f16 alone.
    const double values[] = {std::nan(""), kInf,  -kInf,  0.0,   -0.0,   0.5,   -0.5,
                             1.5,          2.5,   -2.75,  127.9, -129,   255.5, 256,
                             65504,        65520, -70000, 2.2e9, -2.2e9, 5e9,   1e19,
                             -1e19,        2e19,  3e38,   1e-8,  -1e-40, 1e300, 1 / 3.0};
    Tensor x(dtype, {static_cast<int64_t>(std::size(values))});
    for (int64_t i = 0; i < x.numel(); ++i) x.set(i, values[i]);
    return x;
  }
  const int64_t values[] = {0,
                            1,
                            -1,
                            7,
                            -128,
                            127,
                            200,
                            -32768,
                            32767,
                            40000,
                            65519,
                            16777217,
                            INT32_MAX,
                            INT32_MIN,
                            INT64_MAX,
                            1LL << 53,
                            INT64_MIN,
                            (1LL << 53) + 1,
                            0x7fffff4000000000};
  Tensor x(dtype, {static_cast<int64_t>(std::size(values))});
  for (int64_t i = 0; i < x.numel(); ++i)
    x.set_int(i, dtype == DType::boolean ? values[i] & 1 : wrap_to(dtype, values[i]));
  return x;
}

class CastPairs : public ::testing::TestWithParam<std::string> {};

TEST_P(CastPairs, AgreeWithTheReference) {
  for (const DTypeInfo& from : all_dtypes()) {
    SCOPED_TRACE(from.name);
    ir::Graph graph;
    ir::Builder b(graph);
    const std::vector<Tensor> inputs = {edges(from.dtype)};
    ir::Value* x = graph.add_input("x", {from.dtype, {inputs[0].shape()[0]}});
    for (const DTypeInfo& to : all_dtypes()) {
      graph.outputs.push_back(b.op("cast", {x}, {{"dtype", to.dtype}}));
      graph.output_names.push_back(std::string(to.name));
    }
    EXPECT_EQ(difference(graph, GetParam(), inputs, {}), "");
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CastPairs);
INSTANTIATE_TEST_SUITE_P(Devices, CastPairs,
                         ::testing::ValuesIn(devices_present(Devices::software)),
                         [](const auto& device) { return test_name(device.param); });

}  // namespace
}  // namespace tcc::test
