// The user's layers: nodes carry their names through passes, launches list them, keys ignore them.
#include "ir/layers.h"

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/passes/common_subexpressions.h"
#include "ir/passes/merge_siblings.h"
#include "ir/text.h"
#include "scheduler/region.h"

namespace tcc::ir {
namespace {

const Node& producer_of(const Graph& graph, std::string_view op) {
  for (const auto& node : graph.nodes())
    if (node->op_name() == op) return *node;
  throw std::runtime_error("no node of this op");
}

Graph named(const char* text) {
  Graph graph = parse_graph(text);
  name_layers(graph);
  return graph;
}

TEST(Layers, AreNamedAfterResultsAndKept) {
  Graph graph = named(R"(graph @g {
  %x: f32[4] = input
  %a: f32[4] = relu(%x)
  %b: f32[4] = neg(%a)
  return %b
})");
  const auto first = graph.nodes()[0]->location.layers;
  EXPECT_EQ(*first, Layers{"a"});
  graph.nodes()[0]->outputs[0]->name = "other";
  name_layers(graph);
  EXPECT_EQ(graph.nodes()[0]->location.layers, first);
  EXPECT_EQ(*graph.clone().nodes()[1]->location.layers, Layers{"b"});
  EXPECT_EQ(*graph.bind({}).nodes()[1]->location.layers, Layers{"b"});
}

TEST(Layers, JoinWithoutRepeating) {
  const Location a{nullptr, 1, std::make_shared<const Layers>(Layers{"p", "q"})};
  const Location b{nullptr, 2, std::make_shared<const Layers>(Layers{"q", "r"})};
  EXPECT_EQ(*joined(a, b).layers, (Layers{"p", "q", "r"}));
  EXPECT_EQ(joined(a, b).line, 1);
  EXPECT_EQ(joined(a, {}).layers, a.layers);
  EXPECT_EQ(joined({}, {}).layers, nullptr);
}

TEST(Layers, OfEqualNodesAreBothKept) {
  Graph graph = named(R"(graph @g {
  %x: f32[4] = input
  %a: f32[4] = relu(%x)
  %b: f32[4] = relu(%x)
  %c: f32[4] = mul(%a, %b)
  return %c
})");
  eliminate_common_subexpressions(graph);
  EXPECT_EQ(*producer_of(graph, "relu").location.layers, (Layers{"a", "b"}));
}

TEST(Layers, OfMergedSiblingsAreAllKept) {
  Graph graph = named(R"(graph @g {
  %x: f32[4, 8] = input
  %v: f32[6, 8] = weight
  %w: f32[6, 8] = weight
  %q: f32[4, 6] = linear(%x, %v)
  %k: f32[4, 6] = linear(%x, %w)
  %s: f32[4, 6] = add(%q, %k)
  return %s
})");
  merge_siblings(graph);
  EXPECT_EQ(*producer_of(graph, "linear").location.layers, (Layers{"q", "k"}));
  EXPECT_EQ(*producer_of(graph, "slice").location.layers, Layers{"q"});
}

std::vector<Layers> layers_of_launches(const Graph& graph) {
  backends::CompileOptions options;
  options.binaries = false;
  std::vector<Layers> all;
  const exec::Executable executable =
      backends::compile(graph, sched::target_by_name("vulkan"), options);
  for (const exec::KernelLaunch* launch : exec::launches(executable)) all.push_back(launch->layers);
  return all;
}

constexpr const char* kBlock = R"(
tcc: 1
inputs: {x: {dtype: f32, shape: [8, 16]}}
weights: {w: {dtype: f32, shape: [16, 16], init: {normal: 1}}}
nodes:
  - {out: dense, op: linear, in: [x, w]}
  - {out: act, op: relu, in: [dense]}
  - {out: prob, op: softmax, in: [act], dim: -1}
outputs: [prob]
)";

TEST(Layers, OfAKernelAreThoseOfItsNodes) {
  EXPECT_EQ(layers_of_launches(parse_yaml_graph(kBlock, "block.yaml", ".")),
            (std::vector<Layers>{{"dense", "act"}, {"prob"}}));
}

TEST(Layers, OfAFoldedBatchNormStandAtTheConvolution) {
  const Graph graph = parse_yaml_graph(R"(
tcc: 1
inputs: {x: {dtype: f32, shape: [1, 4, 6, 6]}}
weights:
  w: {dtype: f32, shape: [4, 4, 3, 3], init: {normal: 1}}
  s: {dtype: f32, shape: [4], init: ones}
nodes:
  - {out: conv, op: conv2d, in: [x, w]}
  - {out: norm, op: batch_norm, in: [conv, s, s, s, s]}
  - {out: act, op: relu, in: [norm]}
outputs: [act]
)",
                                       "block.yaml", ".");
  const std::vector<Layers> all = layers_of_launches(graph);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0], (Layers{"norm", "conv", "act"}));
}

TEST(Layers, AreInNoKey) {
  const Graph graph = parse_yaml_graph(kBlock, "block.yaml", ".");
  Graph other = graph.clone();
  for (const auto& node : other.nodes())
    node->location = {nullptr, 0, layer_named("something else")};
  backends::CompileOptions options;
  options.binaries = false;
  const sched::Target target = sched::target_by_name("vulkan");
  const exec::Executable a = backends::compile(graph, target, options),
                         b = backends::compile(other, target, options);
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (size_t i = 0; i < a.kernels.size(); ++i) {
    EXPECT_EQ(a.kernels[i].region_key, b.kernels[i].region_key);
    EXPECT_EQ(a.kernels[i].region_key.size(), 32u);
    EXPECT_EQ(a.kernels[i].source, b.kernels[i].source);
  }
  EXPECT_NE(exec::launches(a)[0]->layers, exec::launches(b)[0]->layers);
}

}  // namespace
}  // namespace tcc::ir
