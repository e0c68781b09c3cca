// Conformance: softmax and its relatives over rows with NaN in every column, with infinities, and
// of nothing else, by any config of their kernels.
#include <cmath>
#include <limits>

#include "frontend/graph_file.h"
#include "tests/device/conformance.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc::runtime {
namespace {

constexpr int64_t kColumns = 40;

Tensor special_rows(DType dtype) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::vector<double> filled = {nan, -nan, inf, -inf, 0};
  const std::vector<std::pair<double, double>> rest_and_one = {
      {-inf, nan}, {inf, nan}, {-inf, inf}, {-inf, 3}, {inf, -inf}, {nan, 3}};
  const auto rows = static_cast<int64_t>(2 * kColumns + filled.size() + rest_and_one.size());
  Tensor x =
      random_tensor(dtype, {rows, kColumns}, Init::uniform(-4, 4), stream_seed(0, name(dtype)));
  int64_t row = 0;
  for (int64_t c = 0; c < kColumns; ++c, row += 2) {
    x.set(row * kColumns + c, nan);
    x.set((row + 1) * kColumns + c, c % 2 ? inf : -inf);
  }
  for (const double value : filled) {
    for (int64_t c = 0; c < kColumns; ++c) x.set(row * kColumns + c, value);
    ++row;
  }
  for (const auto& [rest, one] : rest_and_one) {
    for (int64_t c = 0; c < kColumns; ++c) x.set(row * kColumns + c, c == row % 7 ? one : rest);
    ++row;
  }
  return x;
}

Tensor turned(const Tensor& x) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  Tensor y(x.dtype(), {columns, rows});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) y.set(c * rows + r, x.get(r * columns + c));
  return y;
}

class SoftmaxRowsTest : public DeviceTest {
 protected:
  void check(DType dtype, const std::string& op, bool across) const {
    const std::vector<Tensor> inputs = {across ? turned(special_rows(dtype)) : special_rows(dtype)};
    const std::string text =
        str("tcc: 1\ninputs: {x: {dtype: ", name(dtype), ", shape: [", inputs[0].shape()[0], ", ",
            inputs[0].shape()[1], "]}}\nnodes:\n  - {out: y, op: ", op,
            ", in: [x], dim: ", across ? 0 : 1, "}\noutputs: [y]\n");
    SCOPED_TRACE(text);
    const ir::Graph graph = parse_yaml_graph(text, "graph.yaml", ".").bind({});
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const test::RandomConfigs random(seed);
      backends::CompileOptions options;
      if (seed > 0) options.configs = &random;
      const std::vector<Tensor> outputs = test::run_on_device(graph, GetParam(), inputs, options);
      if (!runs_kernels()) continue;
      EXPECT_EQ(test::compare_with_reference(graph, inputs, outputs), "") << "seed " << seed;
    }
  }
};
TCC_ON_EVERY_DEVICE(SoftmaxRowsTest);

TEST_P(SoftmaxRowsTest, NanAndInfinities) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const char* op : {"softmax", "log_softmax", "logsumexp", "softmin"})
      check(dtype, op, false);
}

TEST_P(SoftmaxRowsTest, NanAndInfinitiesAcrossRows) {
  for (const char* op : {"softmax", "logsumexp"}) check(DType::f32, op, true);
}

}  // namespace
}  // namespace tcc::runtime
