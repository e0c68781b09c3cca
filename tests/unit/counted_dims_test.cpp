// Dims whose sizes a run counts (ir/counted_dims.h): the reference, programs and what is refused.
#include "ir/counted_dims.h"

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "tests/expect_error.h"

namespace tcc::ir {
namespace {

Graph graph_of(const char* text) { return parse_yaml_graph(text, "counted.yaml", "."); }

TEST(CountedDims, TheReferenceCounts) {
  const Graph graph = graph_of(R"(tcc: 1
name: counted
dims: {N: 0}
inputs:
  x: {dtype: f32, shape: [3, 4]}
nodes:
  - {op: nonzero, in: x, size: N, out: places}
  - {op: relu, in: x, out: y}
outputs: [places, y]
)");
  const Graph bound = graph.bind({});
  RefTensor x(DType::f32, {3, 4});
  x.f = {0, 1, 0, 0, 2, 0, -3, 0, 0, 0, 0, 4};
  const std::vector<RefTensor> results = interpret(bound, {x}, RefMode::ideal);
  EXPECT_EQ(results[0].shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(results[0].i, (std::vector<int64_t>{0, 1, 1, 0, 1, 2, 2, 3}));
}

}  // namespace
}  // namespace tcc::ir
