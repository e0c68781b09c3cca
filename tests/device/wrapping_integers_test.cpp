// Conformance: integers wrap where graphs compute with them, also where results are indices or are
// compared, which compilers may otherwise take for numbers that never leave their type.
#include "frontend/graph_file.h"
#include "tests/device/conformance.h"
#include "tests/run_graph.h"

namespace tcc::runtime {
namespace {

class WrappingIntegersTest : public DeviceTest {
 protected:
  // "low" and "high" are inputs of the type whose elements reach from the least and to the greatest
  // number.
  void check(const char* dtype, int64_t least, int64_t greatest, const std::string& nodes,
             const std::string& outputs) const {
    const std::string text =
        str("tcc: 1\ninputs:\n  low: {dtype: ", dtype, ", shape: [40], range: [", least, ", ",
            least + 3, "]}\n  high: {dtype: ", dtype, ", shape: [40], range: [", greatest - 3, ", ",
            greatest, "]}\n  x: {dtype: f32, shape: [100, 3]}\nnodes:\n", nodes, "outputs: [",
            outputs, "]\n");
    SCOPED_TRACE(text);
    const ir::Graph graph = parse_yaml_graph(text, "graph.yaml", ".").bind({});
    const std::vector<Tensor> inputs = test::draw_inputs(graph, {.lo = -1, .hi = 1});
    const std::vector<Tensor> results = test::run_on_device(graph, GetParam(), inputs, {});
    if (runs_kernels()) { EXPECT_EQ(test::compare_with_reference(graph, inputs, results), ""); }
  }
  void check(const std::string& nodes, const std::string& outputs) const {
    check("i32", INT32_MIN, INT32_MAX, nodes, outputs);
    check("i64", INT64_MIN, INT64_MAX, nodes, outputs);
  }
};
TCC_ON_EVERY_DEVICE(WrappingIntegersTest);

TEST_P(WrappingIntegersTest, AreIndices) {
  check(
      "  - {out: a, op: mul, in: [low, 2]}\n  - {out: y, op: index_select, in: [x, a], dim: 0}\n"
      "  - {out: b, op: add, in: [high, low]}\n  - {out: c, op: add, in: [b, 10]}\n"
      "  - {out: z, op: index_select, in: [x, c], dim: 0}\n"
      "  - {out: d, op: sub, in: [low, high]}\n  - {out: w, op: index_select, in: [x, d], dim: "
      "0}\n",
      "y, z, w");
}

TEST_P(WrappingIntegersTest, AreCompared) {
  check(
      "  - {out: a, op: add, in: [high, 2]}\n  - {out: grows, op: gt, in: [a, high]}\n"
      "  - {out: b, op: sub, in: [low, 2]}\n  - {out: shrinks, op: lt, in: [b, low]}\n"
      "  - {out: c, op: abs, in: [low]}\n  - {out: below, op: lt, in: [c, 0]}\n"
      "  - {out: d, op: neg, in: [low]}\n  - {out: negative, op: lt, in: [d, 0]}\n"
      "  - {out: e, op: mul, in: [low, 3]}\n  - {out: tripled, op: lt, in: [e, 0]}\n",
      "grows, shrinks, below, negative, tripled, c, d");
}

// The position is an index of the kernel, whose products with numbers of the graph wrap, too.
TEST_P(WrappingIntegersTest, AreMadeOfPositions) {
  check("i32", INT32_MIN, INT32_MAX,
        "  - {out: i, op: iota, size: [40], dim: 0, dtype: i32}\n"
        "  - {out: a, op: mul, in: [i, 100000000]}\n  - {out: grows, op: ge, in: [a, 0]}\n"
        "  - {out: b, op: sub, in: [low, i]}\n  - {out: more, op: ge, in: [b, 0]}\n",
        "a, grows, more");
}

TEST_P(WrappingIntegersTest, AreSums) {
  check(
      "  - {out: s, op: sum, in: [high], dim: 0}\n  - {out: r, op: cumsum, in: [high], dim: 0}\n"
      "  - {out: up, op: gt, in: [r, 0]}\n  - {out: p, op: prod, in: [low], dim: 0}\n",
      "s, r, up, p");
}

}  // namespace
}  // namespace tcc::runtime
