// Conformance: what follows a matrix product and has as many elements as its result, but not its
// elements in their places: slices that are broadcast, stacked or padded.
#include "frontend/graph_file.h"
#include "tests/device/conformance.h"
#include "tests/run_graph.h"

namespace tcc::runtime {
namespace {

class ProductElementsTest : public DeviceTest {
 protected:
  // `nodes` make y of q [4, 8] and k [4, 8], products of x that are one product of [4, 16].
  void check(const std::string& nodes) const {
    for (const char* dtype : {"f32", "f16"}) {
      const std::string text =
          str("tcc: 1\ninputs: {x: {dtype: ", dtype, ", shape: [4, 8]}, past: {dtype: ", dtype,
              ", shape: [4, 2, 8]}}\n"
              "weights: {w: {dtype: ",
              dtype, ", shape: [16, 8], init: {normal: 0.3}}}\n",
              "nodes:\n  - {out: all, op: linear, in: [x, w]}\n"
              "  - {out: k, op: slice, in: [all], dim: 1, start: 0, end: 8}\n"
              "  - {out: q, op: slice, in: [all], dim: 1, start: 8, end: 16}\n",
              nodes, "outputs: [y, q]\n");
      SCOPED_TRACE(text);
      const ir::Graph graph = parse_yaml_graph(text, "graph.yaml", ".").bind({});
      const std::vector<Tensor> inputs = test::draw_inputs(graph, {.lo = -1, .hi = 1});
      const std::vector<Tensor> outputs = test::run_on_device(graph, GetParam(), inputs, {});
      if (runs_kernels()) { EXPECT_EQ(test::compare_with_reference(graph, inputs, outputs), ""); }
    }
  }
};
TCC_ON_EVERY_DEVICE(ProductElementsTest);

TEST_P(ProductElementsTest, ASliceIsBroadcast) {
  check(
      "  - {out: u, op: unsqueeze, in: [k], dim: 1}\n"
      "  - {out: y, op: add, in: [u, past]}\n");
  check(
      "  - {out: u, op: unsqueeze, in: [k], dim: 1}\n"
      "  - {out: y, op: expand, in: [u], size: [4, 2, 8]}\n");
}

TEST_P(ProductElementsTest, ASliceIsStackedAndJoined) {
  check(
      "  - {out: p, op: select, in: [past], dim: 1, index: 0}\n"
      "  - {out: y, op: stack, in: [p, k], dim: 0}\n");
  check(
      "  - {out: p, op: select, in: [past], dim: 1, index: 1}\n"
      "  - {out: y, op: cat, in: [p, k], dim: 1}\n");
  check(
      "  - {out: p, op: select, in: [past], dim: 1, index: 1}\n"
      "  - {out: y, op: cat, in: [k, p], dim: 0}\n");
}

TEST_P(ProductElementsTest, ASliceIsPadded) {
  check("  - {out: y, op: pad, in: [k], pad: [0, 0, 4, 0], value: 7.0}\n");
  check("  - {out: y, op: pad, in: [k], pad: [3, 5], value: -1.0}\n");
}

}  // namespace
}  // namespace tcc::runtime
