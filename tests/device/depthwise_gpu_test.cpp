// Random depthwise convolutions on mma.sync, with random configs, against the reference.
#include <cstdlib>
#include <limits>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/random_products.h"

namespace tcc::test {
namespace {

// Images whose channels are last in memory, of one or two dims.
Product draw_depthwise(std::mt19937_64& random) {
  const bool is_line = random() % 8 == 0;
  const int64_t n = pick(random, {1, 2, 5}),
                c = pick(random, {3, 8, 16, 20, 24, 37, 40, 72, 100, 144}),
                taps_y = is_line ? 1 : pick(random, {1, 2, 3, 5, 7, 7, 7, 8, 11, 16}),
                taps_x = pick(random, {1, 2, 3, 5, 6, 7, 7, 7, 8, 9});
  const auto side = [&] {
    const auto most = static_cast<uint64_t>(pick(random, {4, 18, 70}));
    return 1 + static_cast<int64_t>(random() % most);
  };
  const int64_t before_y = is_line ? 0 : taps_y / 2 + static_cast<int64_t>(random() % 2),
                before_x = taps_x / 2 + static_cast<int64_t>(random() % 2),
                h = is_line ? 1 : side(), w = side(), oh = h + 2 * before_y - taps_y + 1,
                ow = w + 2 * before_x - taps_x + 1;
  const auto image = [&](int64_t y, int64_t x) {
    return is_line ? shape({n, x, c}) : shape({n, y, x, c});
  };
  const char *to_first = is_line ? "[0, 2, 1]" : "[0, 3, 1, 2]",
             *to_last = is_line ? "[0, 2, 1]" : "[0, 2, 3, 1]";
  const bool is_turned = random() % 2 == 0;  // the filter's channels are last in memory
  Product product;
  product.dtype = random() % 2 == 0 ? "bf16" : "f16";
  product.text = str(
      "tcc: 1\nname: depthwise\ninputs:\n  x: {dtype: f32, shape: ", image(h, w),
      "}\n  f: {dtype: f32, shape: ",
      is_turned ? (is_line ? shape({taps_x, c, 1}) : shape({taps_y, taps_x, c, 1}))
                : (is_line ? shape({c, 1, taps_x}) : shape({c, 1, taps_y, taps_x})),
      "}\n  b: {dtype: f32, shape: ", is_line ? shape({c, 1}) : shape({c, 1, 1}),
      "}\n  r: {dtype: f32, shape: ", image(oh, ow),
      "}\nnodes:\n  - {out: image, op: permute, in: ", "[x], dims: ", to_first,
      "}\n  - {out: filter, op: permute, in: [f], dims: ",
      is_turned ? (is_line ? "[1, 2, 0]" : "[2, 3, 0, 1]")
                : (is_line ? "[0, 1, 2]" : "[0, 1, 2, 3]"),
      "}\n  - {out: residual, op: permute, in: [r], dims: ", to_first,
      "}\n  - {out: s, op: ", is_line ? "conv1d" : "conv2d", ", in: [image, filter], groups: ", c,
      ", padding: ", is_line ? shape({before_x}) : shape({before_y, before_x}),
      "}\n  - {out: t, op: add, in: [s, b]}\n  - {out: u, op: mul, in: [t, residual]}\n"
      "  - {out: y, op: permute, in: [u], dims: ",
      to_last, "}\noutputs: [y]\n");
  return product;
}

class DepthwiseOnMma : public ::testing::Test {
 protected:
  DepthwiseOnMma() { ::setenv("TCC_TEMPLATES", "depthwise_sm80,-depthwise", 1); }
  ~DepthwiseOnMma() override { ::unsetenv("TCC_TEMPLATES"); }
};

TEST_F(DepthwiseOnMma, AgreesWithTheReference) {
  int64_t own = 0;
  check_products("mma", draw_depthwise, [&](const exec::Executable& executable) {
    for (const exec::KernelBinary& kernel : executable.kernels)
      own += kernel.template_name == "depthwise_sm80";
  });
  if (!IsSkipped()) { EXPECT_GT(own, 0); }
}

// Infinities and NaN stay in the windows that they are in.
TEST_F(DepthwiseOnMma, KeepsWhatIsNotFinite) {
  const std::shared_ptr<runtime::Device> device = runtime::open_device("cuda:0");
  if (!device->target().has_matrix_unit("mma")) GTEST_SKIP() << "no mma";
  for (const char* dtype : {"bf16", "f16"}) {
    const ir::Graph graph = parse_yaml_graph(
        str("tcc: 1\nname: g\ninputs:\n  x: {dtype: ", dtype,
            ", shape: [2, 21, 30, 24]}\n  f: {dtype: ", dtype,
            ", shape: [24, 1, 7, 7]}\nnodes:\n"
            "  - {out: image, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
            "  - {out: s, op: conv2d, in: [image, f], groups: 24, padding: 3}\n"
            "  - {out: y, op: permute, in: [s], dims: [0, 2, 3, 1]}\noutputs: [y]\n"),
        "g.yaml", ".");
    std::vector<Tensor> inputs = draw_inputs(graph, {.lo = -1, .hi = 1});
    for (int64_t i = 7; i < inputs[0].numel(); i += 997) {
      const float odd[] = {std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
      inputs[0].set(i, odd[i / 997 % 3]);
    }
    EXPECT_EQ(difference(graph, "cuda:0", inputs, {}), "") << dtype;
  }
}

}  // namespace
}  // namespace tcc::test
