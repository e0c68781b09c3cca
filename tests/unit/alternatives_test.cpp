// Other graphs for one node: that each rewrite computes the same, and that the comparison by cost
// takes those that gain.
#include "scheduler/alternatives.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "runtime/device.h"
#include "scheduler/copy_operands.h"
#include "scheduler/fusion_groups.h"
#include "scheduler/graph_part.h"
#include "scheduler/plan.h"
#include "scheduler/split_contraction.h"
#include "scheduler/split_reduction.h"
#include "scheduler/template.h"
#include "tests/run_graph.h"
#include "tests/unit/op_runner.h"

namespace tcc::sched {
namespace {

using ir::Builder;
using ir::Graph;
using ir::Node;
using ir::RefTensor;

// Numbers of which sums are exact.
RefTensor drawn(const ir::Type& type, uint64_t seed) {
  RefTensor x(type.dtype, ir::const_shape(type.shape));
  for (size_t k = 0; k < static_cast<size_t>(x.numel()); ++k) {
    const auto value = static_cast<int64_t>((k * 7919 + seed * 104729) % 17) - 8;
    if (x.is_float())
      x.f[k] = static_cast<double>(value);
    else
      x.i[k] = value;
  }
  return x;
}

struct Rewritten {
  std::string op;
  std::vector<ir::Type> types;
  ir::Attrs attrs = {};
};

// Expects the results of the op to be the same once it is rewritten, and more nodes than one.
void expect_same(const Rewritten& c,
                 const std::function<ir::Replacement(Builder&, const Node&)>& rewrite) {
  SCOPED_TRACE(c.op + " of " + ir::to_string(c.types[0]));
  Graph graph = ir::test::op_graph(c.op, c.types, c.attrs);
  std::vector<RefTensor> inputs;
  for (size_t k = 0; k < c.types.size(); ++k) inputs.push_back(drawn(c.types[k], k));
  const auto whole = ir::interpret(graph, inputs, ir::RefMode::ideal);
  const std::string op = c.op;
  bool is_done = false;
  ir::rewrite_nodes(graph, [&](Builder& b, const Node& node) {
    if (node.op_name() != op || std::exchange(is_done, true)) return ir::Replacement{};
    return rewrite(b, node);
  });
  EXPECT_GT(graph.nodes().size(), 1u);
  const auto parts = ir::interpret(graph, inputs, ir::RefMode::ideal);
  ASSERT_EQ(whole.size(), parts.size());
  EXPECT_EQ(whole[0].shape, parts[0].shape);
  EXPECT_EQ(whole[0].f, parts[0].f);
  EXPECT_EQ(whole[0].i, parts[0].i);
}

TEST(SplitContraction, ProductsOfPartsAddUp) {
  const Rewritten cases[] = {
      {"matmul", {{DType::f32, {3, 24}}, {DType::f32, {24, 5}}}},
      {"matmul", {{DType::f64, {24}}, {DType::f64, {24}}}},
      {"matmul", {{DType::f16, {2, 1, 3, 24}}, {DType::f16, {4, 24, 5}}}},
      {"convolution", {{DType::f32, {2, 16, 9}}, {DType::f32, {6, 16, 3}}}},
      {"convolution",
       {{DType::f32, {1, 16, 7, 8}}, {DType::f32, {6, 8, 3, 2}}},
       {{"groups", int64_t{2}},
        {"stride", ir::ints({2, 1})},
        {"padding", ir::ints({1, 0, 0, 2})},
        {"dilation", ir::ints({1, 2})}}},
      {"convolution",
       {{DType::bf16, {1, 8, 4, 5}}, {DType::bf16, {3, 8, 3, 3}}},
       {{"input_dilation", ir::ints({2, 3})}, {"padding", ir::ints({2, 1, -1, 0})}}},
      {"convolution", {{DType::f32, {1, 8, 4, 5, 6}}, {DType::f32, {2, 8, 2, 3, 1}}}},
  };
  for (const Rewritten& c : cases)
    for (const int64_t parts : {2, 4, 8})
      expect_same(c,
                  [&](Builder& b, const Node& node) { return split_contraction(b, node, parts); });
}

TEST(SplitContraction, PartialSumsAreNotRounded) {
  Graph graph = ir::test::op_graph("convolution",
                                   {{DType::bf16, {1, 16, 8, 8}}, {DType::bf16, {8, 16, 3, 3}}});
  ir::rewrite_nodes(graph,
                    [](Builder& b, const Node& node) { return split_contraction(b, node, 4); });
  int convolutions = 0;
  for (const auto& node : graph.nodes())
    if (node->op_name() == "convolution") {
      ++convolutions;
      EXPECT_EQ(node->outputs[0]->dtype(), DType::f32);
      EXPECT_EQ(node->attr<int64_t>("groups"), 4);
    }
  EXPECT_EQ(convolutions, 1);
  EXPECT_EQ(graph.outputs[0]->dtype(), DType::bf16);
}

TEST(SplitContraction, ExtentsAreThoseOfTheProduct) {
  const Graph graph =
      ir::test::op_graph("convolution", {{DType::f32, {2, 16, 8, 8}}, {DType::f32, {12, 4, 3, 3}}},
                         {{"groups", int64_t{4}}});
  const ContractionExtents extents = contraction_extents(*graph.nodes().front());
  EXPECT_EQ(extents.batch, 4);
  EXPECT_EQ(extents.m, 2 * 6 * 6);
  EXPECT_EQ(extents.n, 3);
  EXPECT_EQ(extents.k, 4 * 9);
  EXPECT_EQ(extents.divisible, 4);
}

TEST(SplitReduction, ReductionsOfPartsAreThoseOfTheRow) {
  for (const char* op : {"sum", "amax", "amin"})
    for (const std::vector<int64_t>& dims :
         std::vector<std::vector<int64_t>>{{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}})
      for (const bool keepdim : {false, true})
        expect_same(
            {op, {{DType::f16, {8, 12, 16}}}, {{"dim", ir::ints(dims)}, {"keepdim", keepdim}}},
            [](Builder& b, const Node& node) { return split_reduction(b, node, 4); });
}

TEST(CopyOperands, ViewsAreMadeAgainOnOneCopy) {
  Graph graph;
  ir::Value* x = graph.add_input("x", {DType::f16, {9, 7}});
  Builder b(graph);
  ir::Value* turned = b.transpose(x, 0, 1);
  graph.outputs = {b.matmul(x, turned), b.matmul(turned, x)};
  graph.output_names = {"y", "z"};
  const std::vector<RefTensor> inputs = {drawn(x->type, 1)};
  const auto before = ir::interpret(graph, inputs, ir::RefMode::ideal);
  ir::rewrite_nodes(graph, [](Builder& builder, const Node& node) {
    return node.op_name() == "matmul" ? copy_operands(builder, node, 3) : ir::Replacement{};
  });
  merge_copies(graph);
  size_t copies = 0;
  for (const auto& node : graph.nodes()) {
    if (node->op_name() == "identity") ++copies;
    if (node->op_name() != "matmul") continue;
    for (const ir::Value* operand : node->inputs) EXPECT_NE(operand, x);
  }
  EXPECT_EQ(copies, 1u);
  const auto after = ir::interpret(graph, inputs, ir::RefMode::ideal);
  for (size_t k = 0; k < before.size(); ++k) EXPECT_EQ(before[k].f, after[k].f);
}

// ---- parts of a graph

Graph graph_of(const std::string& inputs, const std::string& nodes, const std::string& outputs) {
  return parse_yaml_graph("tcc: 1\nname: g\ninputs: {" + inputs + "}\nnodes: [" + nodes +
                              "]\noutputs: [" + outputs + "]\n",
                          "g.yaml", ".");
}

const Node* node_of(const Graph& graph, std::string_view op) {
  for (const auto& node : graph.nodes())
    if (node->op_name() == op) return node.get();
  return nullptr;
}

TEST(GraphParts, ArePartsOfTheGraphAndNotMore) {
  const Graph graph = graph_of(
      "x: {dtype: f32, shape: [4, 64]}, w: {dtype: f32, shape: [64, 64]}",
      "{out: a, op: exp, in: [x]}, {out: s, op: sum, in: [a], dim: [1], keepdim: true},"
      "{out: d, op: sub, in: [a, s]}, {out: m, op: amax, in: [d], dim: [1], keepdim: true},"
      "{out: p, op: matmul, in: [d, w]}, {out: q, op: add, in: [d, p]},"
      "{out: u, op: sum, in: [x], dim: [0]}",
      "m, q, u");
  const GraphParts parts(graph);
  const std::vector<const Node*> around = parts.around(node_of(graph, "sum"), {});
  std::vector<std::string> names;
  for (const Node* node : around) names.emplace_back(node->op_name());
  // Neither the product, nor what waits for it, nor the sum of other rows.
  EXPECT_EQ(names, (std::vector<std::string>{"exp", "sum", "sub", "amax"}));
  const GraphPart part = parts.part(around);
  EXPECT_EQ(part.graph->inputs.size(), 1u);
  EXPECT_TRUE(part.free_inputs.empty()) << "x is a graph input";
  ASSERT_EQ(part.graph->outputs.size(), 2u);  // d and m
  EXPECT_EQ(part.free_outputs, (std::set<size_t>{0}));
  EXPECT_EQ(part.copies.size(), 4u);
  // Nodes that are kept are another's.
  EXPECT_EQ(parts.around(node_of(graph, "sum"), {node_of(graph, "sub")}).size(), 2u);
  EXPECT_EQ(parts.around(node_of(graph, "matmul"), {}).size(), 1u);
}

// ---- the comparison

size_t kernels(const Graph& graph, const std::string& target, const PlanSource* plan = nullptr) {
  backends::CompileOptions options;
  options.plan = plan;
  return backends::schedule(graph, target_by_name(target), options).regions.size();
}

Graph product(const std::string& dtype, int64_t m, int64_t n, int64_t k) {
  const std::string type = str("{dtype: ", dtype, ", shape: [");
  return graph_of(str("x: ", type, m, ", ", k, "]}, w: ", type, n, ", ", k, "]}"),
                  "{out: y, op: linear, in: [x, w]}", "y");
}

Graph reduced(const std::string& op, int64_t rows, int64_t columns) {
  return graph_of(str("x: {dtype: f32, shape: [", rows, ", ", columns, "]}"),
                  "{out: y, op: " + op + "}", "y");
}

TEST(Alternatives, FewLongRowsAreReducedInPartsAndManyAreNot) {
  const std::string sum = "sum, in: [x], dim: [1]";
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a", "vulkan:nvidia"}) {
    EXPECT_EQ(kernels(reduced(sum, 1, 1 << 20), target), 2u) << target;
    EXPECT_EQ(kernels(reduced(sum, 4096, 4096), target), 1u) << target;
    EXPECT_EQ(kernels(reduced(sum, 1, 2048), target), 1u) << target;
  }
  // The workgroups of a cluster share a row that is not much longer.
  EXPECT_EQ(kernels(reduced(sum, 1, 1 << 16), "cuda:sm_90a"), 1u);
}

// Both reductions of a softmax, or none: one alone gains little.
TEST(Alternatives, DependentReductionsAreRewrittenTogether) {
  const std::string softmax = "softmax, in: [x], dim: -1";
  EXPECT_EQ(kernels(reduced(softmax, 16, 262144), "cuda:sm_80"), 5u);
  EXPECT_EQ(kernels(reduced(softmax, 16, 262144), "cuda:sm_90a"), 1u) << "clusters keep the rows";
  EXPECT_EQ(kernels(reduced(softmax, 4096, 4096), "cuda:sm_80"), 1u);
}

TEST(Alternatives, ProductsOfFewTilesAndLongSumsAreSplitOnFmaUnits) {
  EXPECT_EQ(kernels(product("f32", 64, 64, 8192), "cuda:sm_90a"), 2u);
  EXPECT_EQ(kernels(product("f32", 64, 64, 8192), "vulkan:nvidia"), 2u);
  EXPECT_EQ(kernels(product("bf16", 64, 512, 8192), "cuda:sm_90a"), 1u) << "clusters share sums";
  EXPECT_EQ(kernels(product("f32", 64, 64, 256), "cuda:sm_90a"), 1u) << "short sums";
  EXPECT_EQ(kernels(product("f32", 4096, 4096, 4096), "cuda:sm_90a"), 1u) << "many tiles";
}

TEST(Alternatives, ConvolutionsAreSplit) {
  const auto convolution = [](int64_t channels, int64_t size) {
    return graph_of(str("x: {dtype: f32, shape: [1, ", channels, ", ", size, ", ", size,
                        "]}, w: {dtype: f32, shape: [", channels, ", ", channels, ", 3, 3]}"),
                    "{out: h, op: conv2d, in: [x, w], padding: 1}, {out: y, op: relu, in: [h]}",
                    "y");
  };
  EXPECT_EQ(kernels(convolution(512, 4), "cuda:sm_90a"), 2u);
  EXPECT_EQ(kernels(convolution(512, 7), "cuda:sm_90a"), 2u);
  EXPECT_EQ(kernels(convolution(512, 14), "cuda:sm_90a"), 1u) << "clusters share sums";
  EXPECT_EQ(kernels(convolution(1024, 7), "vulkan:nvidia"), 2u);
  for (const char* target : {"cuda:sm_90a", "vulkan:nvidia"})
    EXPECT_EQ(kernels(convolution(64, 112), target), 1u) << target;
}

// The nodes of a region that a template proposes are not looked at, whatever would gain.
TEST(Alternatives, KeptNodesStay) {
  Graph graph = ir::test::op_graph("matmul", {{DType::f32, {64, 8192}}, {DType::f32, {8192, 64}}});
  const Target target = target_by_name("cuda:sm_90a");
  const auto all = [&] { return std::set<const Node*>{graph.nodes().front().get()}; };
  EXPECT_FALSE(take_alternatives(graph, AlternativeStage::primitives, target, {}, {}, all));
  EXPECT_EQ(graph.nodes().size(), 1u);
  EXPECT_TRUE(take_alternatives(graph, AlternativeStage::primitives, target));
  EXPECT_GT(graph.nodes().size(), 1u);
}

// A node that cannot stay as it is is no matter of cost.
TEST(Alternatives, RowsThatNoWorkgroupSortsAreRefusedWithTheWayOut) {
  const Target target = target_by_name("cuda:sm_90a");
  Graph graph = ir::test::op_graph("sort_runs", {{DType::f32, {2, 20000}}});
  {
    const FusionGroups groups(graph, target, {});
    const Match& match = groups.match({graph.nodes().front().get()});
    ASSERT_FALSE(match);
    EXPECT_NE(match.reason().find("of which a workgroup sorts"), std::string::npos);
    ASSERT_EQ(match.refusal().alternatives.size(), 1u);
    EXPECT_EQ(match.refusal().alternatives[0].kind, "split_sort");
    EXPECT_FALSE(match.refusal().alternatives[0].keeps_whole());
  }
  EXPECT_TRUE(take_alternatives(graph, AlternativeStage::primitives, target));
  const FusionGroups groups(graph, target, {});
  for (const auto& one : graph.nodes())
    EXPECT_TRUE(groups.is_light(one.get()) || groups.match({one.get()}));
}

TEST(Alternatives, SumsThatWouldBeRoundedTooOftenDoNotStay) {
  const auto split_of = [](const char* op, int64_t columns, const char* name) {
    const Target target = target_by_name(name);
    const Graph graph =
        ir::test::op_graph(op, {{DType::f32, {3, columns}}}, {{"dim", ir::ints({1})}});
    const FusionGroups groups(graph, target, {});
    const Match& match = groups.match({graph.nodes().front().get()});
    const auto all = (*match)->alternatives(AlternativeStage::primitives);
    return all.size() == 1 && !all[0].keeps_whole();
  };
  EXPECT_TRUE(split_of("sum", 1 << 22, "cuda:sm_90a"));
  EXPECT_FALSE(split_of("amax", 1 << 22, "cuda:sm_90a"));
  EXPECT_FALSE(split_of("sum", 1 << 20, "cuda:sm_90a"));
  EXPECT_TRUE(split_of("sum", 1 << 20, "vulkan:lavapipe")) << "it has fewer accumulators";
}

// ---- results on a device

class AlternativesOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const auto devices = test::devices_present(test::Devices::software);
    if (devices.empty()) GTEST_SKIP() << "there is no software device";
    device_ = devices.front();
  }
  // Answers a kind of sites with its largest choice, and counts them.
  class Most : public PlanSource {
   public:
    explicit Most(std::string kind) : kind_(std::move(kind)) {}
    int64_t choose(const PlanSite& site, const Target&) const override {
      if (site.kind != kind_) return site.default_choice;
      ++asked;
      return site.alternatives.back();
    }
    mutable int asked = 0;

   private:
    std::string kind_;
  };
  std::string device_;
};

TEST_F(AlternativesOnDevice, SplitConvolutionsAgreeWithTheReference) {
  const char* const forms[] = {
      "x: {dtype: f32, shape: [1, 64, 6, 7]}, w: {dtype: f32, shape: [10, 64, 3, 3]} | padding: 1",
      "x: {dtype: f16, shape: [2, 256, 5, 5]}, w: {dtype: f16, shape: [12, 128, 2, 2]} | "
      "groups: 2, stride: 2",
      "x: {dtype: bf16, shape: [1, 512, 4, 4]}, w: {dtype: bf16, shape: [8, 512, 1, 1]} | stride: "
      "1",
  };
  for (const std::string form : forms) {
    const size_t bar = form.find(" | ");
    const Graph graph = graph_of(form.substr(0, bar),
                                 "{out: h, op: conv2d, in: [x, w], " + form.substr(bar + 3) +
                                     "}, {out: y, op: relu, in: [h]}",
                                 "y");
    const Most most("split_k");
    backends::CompileOptions options;
    options.plan = &most;
    EXPECT_EQ(test::difference(graph, device_, test::draw_inputs(graph, {}), options), "") << form;
    EXPECT_GT(most.asked, 0) << form;
  }
}

TEST_F(AlternativesOnDevice, SplitScansAgreeWithTheReference) {
  const Graph graph =
      graph_of("x: {dtype: f32, shape: [1, 40000]}", "{out: y, op: cumsum, in: [x], dim: 1}", "y");
  const Most most("split_scan");
  backends::CompileOptions options;
  options.plan = &most;
  test::DrawOptions draw;
  draw.lo = 0;
  EXPECT_EQ(test::difference(graph, device_, test::draw_inputs(graph, draw), options), "");
  EXPECT_GT(most.asked, 0);
}

}  // namespace
}  // namespace tcc::sched
