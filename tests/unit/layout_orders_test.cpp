// Orders of dims in memory: a convolution's wish spreads through what lies between it and the next.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "executable/cuda_targets.h"
#include "frontend/graph_file.h"
#include "ir/sizes.h"
#include "scheduler/dim_map.h"
#include "scheduler/layout.h"
#include "tests/whole_region.h"

namespace tcc::sched {
namespace {

using ir::Value;
using test::whole_region;

ir::Graph graph_of(const std::string& text) {
  return parse_yaml_graph("tcc: 1\nname: g\n" + text, "g.yaml", ".");
}

// A depthwise convolution, then a norm and products over its channels between permutations, and the
// residual; the next convolution reads the sum.
ir::Graph block(const std::string& batch) {
  return graph_of("inputs: {image: {dtype: bf16, shape: [" + batch +
                  ", 3, 40, 40]}}\n"
                  "weights:\n"
                  "  stem: {dtype: bf16, shape: [96, 3, 4, 4], init: {normal: 0.1}}\n"
                  "  depthwise: {dtype: bf16, shape: [96, 1, 7, 7], init: {normal: 0.1}}\n"
                  "  g: {dtype: bf16, shape: [96], init: {normal: 1}}\n"
                  "  b: {dtype: bf16, shape: [96], init: {normal: 1}}\n"
                  "  up: {dtype: bf16, shape: [384, 96], init: {normal: 0.1}}\n"
                  "  down: {dtype: bf16, shape: [96, 384], init: {normal: 0.1}}\n"
                  "  scale: {dtype: bf16, shape: [96, 1, 1], init: {normal: 0.1}}\n"
                  "  last: {dtype: bf16, shape: [192, 96, 2, 2], init: {normal: 0.1}}\n"
                  "nodes:\n"
                  "  - {out: x, op: convolution, in: [image, stem], stride: 4}\n"
                  "  - {out: c, op: convolution, in: [x, depthwise], padding: 3, groups: 96}\n"
                  "  - {out: rows, op: permute, in: [c], dims: [0, 2, 3, 1]}\n"
                  "  - {out: n, op: layer_norm, in: [rows, g, b], normalized_shape: [96]}\n"
                  "  - {out: u, op: linear, in: [n, up]}\n"
                  "  - {out: e, op: gelu, in: [u]}\n"
                  "  - {out: d, op: linear, in: [e, down]}\n"
                  "  - {out: image_of_d, op: permute, in: [d], dims: [0, 3, 1, 2]}\n"
                  "  - {out: scaled, op: mul, in: [scale, image_of_d]}\n"
                  "  - {out: sum, op: add, in: [scaled, x]}\n"
                  "  - {out: y, op: convolution, in: [sum, last], stride: 2}\n"
                  "outputs: [y]\n");
}

std::optional<size_t> channels_of(const Value* value) {
  for (size_t d = 0; d < value->shape().size(); ++d)
    for (const int64_t channels : {96, 384})
      if (value->shape()[d].is(channels)) return d;
  return std::nullopt;
}

class LayoutOrders : public ::testing::TestWithParam<std::string> {};

TEST_P(LayoutOrders, WhatLiesBetweenConvolutionsHasItsChannelsInnermost) {
  const ir::Graph graph = block(GetParam());
  const backends::Scheduled scheduled =
      backends::schedule(graph, target_by_name("cuda:sm_90a"), backends::CompileOptions());
  size_t seen = 0;
  for (const Region& region : scheduled.regions)
    for (const Value* output : region.outputs) {
      const std::optional<size_t> channels = channels_of(output);
      if (!channels || output->rank() != 4) continue;
      ++seen;
      EXPECT_TRUE(region.layout(output).strides[*channels].is(1)) << region.name();
    }
  EXPECT_EQ(seen, 5u);  // the stem, the depthwise, the norm, the first product, the sum
}

TEST_P(LayoutOrders, AResidualThroughAPermutationJoinsTheProduct) {
  const ir::Graph graph = block(GetParam());
  const backends::Scheduled scheduled =
      backends::schedule(graph, target_by_name("cuda:sm_90a"), backends::CompileOptions());
  std::vector<std::string> names;
  for (const Region& region : scheduled.regions) names.push_back(region.name());
  EXPECT_EQ(std::ranges::count(names, "matmul_mul_add"), 1) << ::testing::PrintToString(names);
}

INSTANTIATE_TEST_SUITE_P(Batches, LayoutOrders, ::testing::Values("1", "8"));

std::optional<DimMap> map_of(const std::string& shape, const std::string& node) {
  const ir::Graph graph = graph_of("inputs: {x: {dtype: f32, shape: [" + shape +
                                   "]}}\nnodes: [{out: y, " + node + "}]\noutputs: [y]\n");
  const Region region = whole_region(graph);
  return map_dims(region, graph.outputs[0], graph.inputs[0]);
}

TEST(DimMapTest, FollowsPermutationsAndTurns) {
  EXPECT_EQ(map_of("2, 3, 4, 5", "op: permute, in: [x], dims: [0, 2, 3, 1]"), (DimMap{0, 3, 1, 2}));
  EXPECT_EQ(map_of("2, 3, 8, 8", "op: flip, in: [x], dims: [2]"), (DimMap{0, 1, 2, 3}));
  EXPECT_EQ(map_of("2, 3, 4, 1", "op: relu, in: [x]"), (DimMap{0, 1, 2, -1}));
  EXPECT_EQ(map_of("2, 3", "op: unsqueeze, in: [x], dim: 0"), (DimMap{1, 2}));
}

TEST(DimMapTest, HasNothingWhereDimsAreSplitOrJoined) {
  EXPECT_EQ(map_of("2, 12", "op: reshape, in: [x], shape: [2, 3, 4]"), std::nullopt);
  EXPECT_EQ(map_of("2, 3, 4", "op: reshape, in: [x], shape: [2, 12]"), std::nullopt);
  EXPECT_EQ(map_of("2, 3, 4", "op: sum, in: [x], dim: [1]"), std::nullopt);
}

TEST(DimMapTest, LayoutsFollowInBothDirections) {
  const ir::Graph graph = graph_of(
      "inputs: {x: {dtype: f32, shape: [2, 3, 4, 5]}}\n"
      "nodes: [{out: p, op: permute, in: [x], dims: [0, 2, 3, 1]}, {out: y, op: relu, in: [p]}]\n"
      "outputs: [y]\n");
  const Region region = whole_region(graph);
  const Value *x = graph.inputs[0], *y = graph.outputs[0];
  const Layout rows = Layout::row_major(y->shape());
  EXPECT_EQ(layout_of_operand(region, x, y, rows), channels_last(x->shape()));
  EXPECT_EQ(layout_of_result(region, y, x, channels_last(x->shape())), rows);
}

}  // namespace
}  // namespace tcc::sched
