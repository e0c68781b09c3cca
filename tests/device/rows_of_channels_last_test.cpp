// Conformance: reductions of values whose kept dims lie in memory in another order than in the
// shape.
#include "frontend/graph_file.h"
#include "tests/device/conformance.h"
#include "tests/run_graph.h"

namespace tcc::runtime {
namespace {

class RowsOfChannelsLastTest : public DeviceTest {
 protected:
  // The nodes read x[2, 3, 16, 5, 7], whose 48 channels are innermost in memory.
  void check(const std::string& nodes, const std::string& outputs) const {
    for (const char* dtype : {"f32", "bf16"}) {
      const std::string text =
          str("tcc: 1\ninputs:\n  pixels: {dtype: ", dtype, ", shape: [2, 5, 7, 48]}\n",
              "nodes:\n  - {out: c, op: permute, in: [pixels], dims: [0, 3, 1, 2]}\n",
              "  - {out: x, op: reshape, in: [c], shape: [2, 3, 16, 5, 7]}\n", nodes, "outputs: [",
              outputs, "]\n");
      SCOPED_TRACE(text);
      const ir::Graph graph = parse_yaml_graph(text, "graph.yaml", ".").bind({});
      const std::vector<Tensor> inputs = test::draw_inputs(graph, {.lo = -1, .hi = 1});
      const std::vector<Tensor> results = test::run_on_device(graph, GetParam(), inputs, {});
      if (runs_kernels()) { EXPECT_EQ(test::compare_with_reference(graph, inputs, results), ""); }
    }
  }
};
TCC_ON_EVERY_DEVICE(RowsOfChannelsLastTest);

TEST_P(RowsOfChannelsLastTest, Sums) {
  check("  - {out: r, op: sum, in: [x], dim: 1}\n", "r");
  check("  - {out: r, op: sum, in: [x], dim: 1, keepdim: true}\n", "r");
  check("  - {out: r, op: sum, in: [x], dim: [1, 3]}\n", "r");
}

// The result lies as the kept dims do in the shape, in their order in memory, or in a third one.
TEST_P(RowsOfChannelsLastTest, ResultsUnderViews) {
  check(
      "  - {out: s, op: amax, in: [x], dim: 1}\n"
      "  - {out: r, op: permute, in: [s], dims: [0, 2, 3, 1]}\n",
      "r");
  check(
      "  - {out: s, op: amax, in: [x], dim: 1}\n"
      "  - {out: p, op: permute, in: [s], dims: [2, 0, 1, 3]}\n"
      "  - {out: r, op: reshape, in: [p], shape: [80, 14]}\n",
      "r");
}

TEST_P(RowsOfChannelsLastTest, PlacesOfTheLargest) {
  check("  - {out: r, op: argmax, in: [x], dim: 1}\n", "r");
  check("  - {out: r, op: argmax, in: [x], dim: 1, keepdim: true}\n", "r");
}

TEST_P(RowsOfChannelsLastTest, StagesOfOneRow) {
  check("  - {out: y, op: softmax, in: [x], dim: 1}\n", "y");
  check(
      "  - {out: m, op: mean, in: [x], dim: 1, keepdim: true}\n"
      "  - {out: d, op: sub, in: [x, m]}\n  - {out: a, op: abs, in: [d]}\n"
      "  - {out: s, op: sum, in: [a], dim: 1, keepdim: true}\n"
      "  - {out: y, op: div, in: [d, s]}\n",
      "y, s");
}

// Weights of parts, as of a split attention, are one for each part and channel.
TEST_P(RowsOfChannelsLastTest, ScaledParts) {
  check(
      "  - {out: h, op: slice, in: [x], dim: 3, start: 0, end: 1}\n"
      "  - {out: s, op: slice, in: [h], dim: 4, start: 0, end: 1}\n"
      "  - {out: g, op: sigmoid, in: [s]}\n  - {out: p, op: mul, in: [x, g]}\n"
      "  - {out: r, op: sum, in: [p], dim: 1}\n",
      "r");
}

}  // namespace
}  // namespace tcc::runtime
