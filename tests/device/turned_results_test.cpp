// Conformance: convolutions between permutes, as exporters of channels-last models write them,
// whose results are computed further in the other order of dims. Dims of one size look alike.
#include "frontend/graph_file.h"
#include "tests/device/conformance.h"
#include "tests/run_graph.h"

namespace tcc::runtime {
namespace {

class TurnedResultsTest : public DeviceTest {
 protected:
  void check(int64_t rows, int64_t columns, int64_t channels, int64_t outputs, int64_t groups,
             const char* order) const {
    const std::string text =
        str("tcc: 1\ninputs:\n  x: {dtype: f32, shape: [2, ", rows, ", ", columns, ", ", channels,
            "]}\nweights:\n  w: {dtype: f32, shape: [", outputs, ", ", channels / groups,
            ", 3, 3], init: {normal: 0.3}}\n  s: {dtype: f32, shape: [", columns,
            ", 1], init: {normal: 1}}\nnodes:\n"
            "  - {out: image, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
            "  - {out: c, op: conv2d, in: [image, w], padding: 1, groups: ",
            groups, "}\n  - {out: t, op: permute, in: [c], dims: ", order,
            "}\n  - {out: m, op: mul, in: [t, s]}\n  - {out: y, op: relu, in: [m]}\n"
            "outputs: [y]\n");
    SCOPED_TRACE(text);
    const ir::Graph graph = parse_yaml_graph(text, "graph.yaml", ".").bind({});
    const std::vector<Tensor> inputs = test::draw_inputs(graph, {.lo = -1, .hi = 1});
    const std::vector<Tensor> outputs_of = test::run_on_device(graph, GetParam(), inputs, {});
    if (runs_kernels()) { EXPECT_EQ(test::compare_with_reference(graph, inputs, outputs_of), ""); }
  }
};
TCC_ON_EVERY_DEVICE(TurnedResultsTest);

TEST_P(TurnedResultsTest, OfProducts) {
  check(6, 5, 8, 16, 1, "[0, 2, 3, 1]");
  check(8, 8, 8, 8, 1, "[0, 2, 3, 1]");
}

TEST_P(TurnedResultsTest, OfDepthwiseConvolutions) {
  check(6, 5, 8, 8, 8, "[0, 2, 3, 1]");
  check(8, 8, 8, 8, 8, "[0, 2, 3, 1]");
  check(8, 8, 8, 8, 8, "[0, 1, 3, 2]");
}

}  // namespace
}  // namespace tcc::runtime
