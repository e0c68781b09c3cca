// Weights whose shapes have dims: drawn when the dims are numbers, and checked against their files.
#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "support/error.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

const char* const kGraph =
    "tcc: 1\ndims: {D: 2, H: 3}\ninputs: {x: {dtype: f32, shape: [5, H]}}\n"
    "weights: {w: {dtype: f32, shape: [2 * D, H], init: {normal: 1}}}\n"
    "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n";

TensorPtr weight_of(const ir::Graph& bound) {
  for (const auto& value : bound.values())
    if (value->is_constant()) return value->data->load();
  return nullptr;
}

TEST(WeightDims, AreBoundToNumbers) {
  const ir::Graph graph = parse_yaml_graph(kGraph, "g.yaml", ".");
  EXPECT_EQ(ir::to_string(graph.outputs[0]->type), "f32[5, D*2]");
  const TensorPtr small = weight_of(graph.bind({})), large = weight_of(graph.bind({{"D", 4}}));
  ASSERT_TRUE(small && large);
  EXPECT_EQ(small->shape(), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(large->shape(), (std::vector<int64_t>{8, 3}));
  // The same stream: a longer tensor begins with a shorter one's elements.
  for (int64_t i = 0; i < small->numel(); ++i) EXPECT_EQ(small->get(i), large->get(i)) << i;
  const ir::Graph bound = graph.bind({{"D", 4}});
  const auto outputs =
      ir::interpret(bound, std::vector{ir::RefTensor(DType::f32, {5, 3})}, ir::RefMode::ideal);
  EXPECT_EQ(outputs.at(0).shape, (std::vector<int64_t>{5, 8}));
}

TEST(WeightDims, OfFilesMustComeOutAsTheFilesShape) {
  const std::string text =
      "tcc: 1\ndims: {N: 8}\ninputs: {x: {dtype: f32, shape: [N]}}\n"
      "weights: {w: {file: data/good.npz, key: w, shape: [N]}}\n"
      "nodes: [{out: y, op: add, in: [x, w]}]\noutputs: [y]\n";
  const ir::Graph graph =
      parse_yaml_graph(text, "g.yaml", testing::source_dir() / "tests/error/cases");
  EXPECT_EQ(weight_of(graph.bind({}))->shape(), std::vector<int64_t>{8});
  EXPECT_THROW(graph.bind({{"N", 9}}), Error);
}

}  // namespace
}  // namespace tcc
