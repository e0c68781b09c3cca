#include "ir/graph.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "ir/bind_nodes.h"
#include "ir/builder.h"
#include "ir/op.h"
#include "ir/suggest.h"
#include "ir/verify.h"
#include "support/error.h"
#include "tests/expect_error.h"

namespace tcc::ir {
namespace {

const SymInt B = SymInt::symbol("B");

// x [B, 4] -> linear -> relu, with a constant weight.
struct Mlp {
  Graph graph;
  Value *x, *weight, *hidden, *result;

  Mlp() {
    graph.name = "mlp";
    graph.dims = {{"B", 8}};
    x = graph.add_input("x", {DType::f32, {B, 4}});
    weight = graph.add_constant("w", {DType::f32, {3, 4}}, make_splat(DType::f32, {3, 4}, 0.5));
    Builder b(graph);
    hidden = b.op("linear", {x, weight});
    result = b.unary("relu", hidden);
    graph.outputs = {result};
    graph.output_names = {"y"};
  }
};

// A part reads results of other nodes as inputs, and knows nothing of values beyond.
TEST(Graph, CopiesOfNodesReadTheRest) {
  Mlp mlp;
  const Node* relu = mlp.result->producer;
  const Graph::Part part = Graph::copy_of({{relu}});
  ASSERT_EQ(part.graph.nodes().size(), 1u);
  ASSERT_EQ(part.graph.values().size(), 2u);
  const Value *read = part.values.at(mlp.hidden), *made = part.values.at(mlp.result);
  EXPECT_EQ(part.graph.inputs, std::vector<Value*>{const_cast<Value*>(read)});
  EXPECT_EQ(read->kind, Value::Kind::input);
  EXPECT_EQ(read->producer, nullptr);
  EXPECT_EQ(read->type, mlp.hidden->type);
  EXPECT_EQ(made->producer, part.nodes.at(relu));
  EXPECT_EQ(mlp.hidden->kind, Value::Kind::result);
  EXPECT_FALSE(part.values.contains(mlp.weight));
}

TEST(Graph, NodesAreBoundToSizes) {
  Mlp mlp;
  const std::vector<const Node*> nodes = {mlp.hidden->producer, mlp.result->producer};
  const Graph::Part fixed = bind_nodes(nodes, {}, {{"B", 3}}, {});
  EXPECT_EQ(fixed.values.at(mlp.result)->type, (Type{DType::f32, {3, 3}}));
  EXPECT_EQ(fixed.values.at(mlp.weight)->data, mlp.weight->data);
  const SymInt rows = bounded_symbol("B", {2, 9}, 4);
  const Graph::Part open = bind_nodes(nodes, {}, {{"B", 4}}, {{"B", rows}});
  EXPECT_EQ(open.values.at(mlp.result)->shape()[0].range().hi, 9);
  EXPECT_EQ(open.values.at(mlp.result)->shape()[0].usual(), 4);
  EXPECT_THROW(bind_nodes(nodes, {}, {{"B", int64_t{1} << 62}}, {}), Error);
}

// A state that grows has room for the most rows of the sizes.
TEST(Graph, GrowingStatesAreAsLargeAsTheyEverNeed) {
  Graph graph;
  graph.dims = {{"S", 4}};
  const SymInt size = SymInt::symbol("S");
  Value* state = graph.add_state("cache", {DType::f32, {size, 2}});
  Value* rows = graph.add_input("rows", {DType::f32, {1, 2}});
  const Node* append =
      graph.add_node(*find_op("append"), {state, rows},
                     {{"dim", int64_t{0}}, {"length", std::vector<SymInt>{size - 1}}});
  const GrowingDims growing = growing_dims(graph);
  EXPECT_EQ(growing, (GrowingDims{{state, 0}}));
  const Graph::Part part =
      bind_nodes({{append}}, growing, {{"S", 4}}, {{"S", bounded_symbol("S", {2, 9}, 4)}});
  EXPECT_TRUE(part.values.at(state)->shape()[0].is(9));
  EXPECT_EQ(part.values.at(state)->kind, Value::Kind::state);
  EXPECT_EQ(part.graph.states.size(), 1u);
}

TEST(Graph, InfersTypesAndNamesResults) {
  Mlp mlp;
  EXPECT_EQ(to_string(mlp.result->type), "f32[B, 3]");
  EXPECT_EQ(mlp.hidden->name, "linear.0");
  EXPECT_EQ(mlp.result->name, "relu.1");
  EXPECT_EQ(mlp.result->producer->op_name(), "relu");
  EXPECT_EQ(mlp.hidden->producer->inputs.size(), 3u) << "omitted operands are null";
  verify(mlp.graph);
}

TEST(Graph, NodeErrorsNameLocationAndOp) {
  Mlp mlp;
  Builder b(mlp.graph);
  b.set_location({std::make_shared<const std::string>("mlp.yaml"), 12});
  const size_t nodes = mlp.graph.nodes().size(), values = mlp.graph.values().size();
  EXPECT_ERROR(b.op("relu", {}), "mlp.yaml:12: relu: takes (x) but got 0 operands");
  EXPECT_ERROR(b.op("linear", {mlp.x}),
               "mlp.yaml:12: linear: takes (x, weight, bias?) but got 1 operand");
  EXPECT_ERROR(b.op("linear", {nullptr, mlp.weight}),
               "mlp.yaml:12: linear: operand 'x' is missing");
  EXPECT_ERROR(b.op("softmax", {mlp.x}, {{"dimm", 1}}),
               "mlp.yaml:12: softmax: unknown attribute 'dimm'; did you mean 'dim'?");
  EXPECT_ERROR(b.op("sofmax", {mlp.x}),
               "mlp.yaml:12: unknown op 'sofmax'; did you mean 'softmax'?");
  EXPECT_ERROR(b.op("add", {mlp.hidden, mlp.weight}),
               "mlp.yaml:12: add: shapes [B, 3] and [3, 4] do not broadcast");
  EXPECT_EQ(mlp.graph.nodes().size(), nodes) << "a failure leaves no node behind";
  EXPECT_EQ(mlp.graph.values().size(), values);
}

TEST(Graph, RefusesNegativeDims) {
  Graph graph;
  EXPECT_ERROR(graph.add_input("x", {DType::f32, {2, -1}}), "'x' has a negative dim: f32[2, -1]");
}

TEST(Graph, ReplacesUses) {
  Mlp mlp;
  Value* other = mlp.graph.add_input("other", mlp.hidden->type);
  mlp.graph.replace_uses(mlp.hidden, other);
  EXPECT_EQ(mlp.result->producer->inputs[0], other);
  mlp.graph.replace_uses(mlp.result, other);
  EXPECT_EQ(mlp.graph.outputs[0], other);
}

TEST(Graph, CountsUses) {
  Mlp mlp;
  Builder b(mlp.graph);
  b.mul(mlp.hidden, mlp.hidden);
  mlp.graph.outputs.push_back(mlp.result);
  const auto uses = mlp.graph.uses();
  EXPECT_EQ(uses.at(mlp.hidden).nodes.size(), 2u);
  EXPECT_EQ(uses.at(mlp.hidden).nodes[0]->op_name(), "relu");
  EXPECT_EQ(uses.at(mlp.result).outputs, 2);
  EXPECT_TRUE(uses.at(mlp.result).nodes.empty());
}

TEST(Graph, RemovesWhatIsDeadButNoInput) {
  Mlp mlp;
  mlp.graph.add_input("unused", {DType::f32, {}});
  Builder b(mlp.graph);
  b.add(b.unary("exp", mlp.x), b.scalar(DType::f32, 1));
  mlp.graph.remove_dead();
  EXPECT_EQ(mlp.graph.nodes().size(), 2u);
  EXPECT_EQ(mlp.graph.inputs.size(), 2u);
  EXPECT_EQ(mlp.graph.values().size(), 5u);  // x, unused, w and two results
  verify(mlp.graph);
}

TEST(Graph, CloneIsIndependentButSharesData) {
  Mlp mlp;
  Graph copy = mlp.graph.clone();
  verify(copy);
  EXPECT_EQ(copy.nodes().size(), 2u);
  EXPECT_EQ(copy.outputs[0]->name, mlp.result->name);
  EXPECT_NE(copy.outputs[0], mlp.result);
  const auto weight =
      std::ranges::find_if(copy.values(), [](const auto& value) { return value->is_constant(); });
  EXPECT_EQ((*weight)->data, mlp.weight->data);
  copy.nodes().clear();
  copy.outputs.clear();
  copy.remove_dead();
  verify(mlp.graph);
}

TEST(Graph, BindsSymbolsInTypesAndAttributes) {
  Mlp mlp;
  Builder b(mlp.graph);
  mlp.graph.outputs[0] = b.reshape(mlp.result, {B * 3});
  EXPECT_EQ(to_string(mlp.graph.bind({}).outputs[0]->type), "f32[24]");
  const Graph bound = mlp.graph.bind({{"B", 2}});
  verify(bound);
  EXPECT_EQ(to_string(bound.inputs[0]->type), "f32[2, 4]");
  EXPECT_EQ(to_string(bound.outputs[0]->type), "f32[6]");
  EXPECT_EQ(bound.outputs[0]->producer->ints("shape"), (std::vector<int64_t>{6}));
  EXPECT_EQ(bound.dims.at("B"), 2);
}

TEST(Graph, RefusesBadBindings) {
  Mlp mlp;
  mlp.graph.inputs[0]->location = {std::make_shared<const std::string>("mlp.yaml"), 3};
  EXPECT_ERROR(mlp.graph.bind({{"C", 2}}), "dim C: the graph has no such dim; there are B");
  EXPECT_ERROR(mlp.graph.bind({{"B", -2}}), "dim B = -2 is negative");
  EXPECT_ERROR(mlp.graph.bind({{"B", int64_t{1} << 40}}),
               "mlp.yaml:3: 'x' is too large or has a negative dim: f32[1099511627776, 4]");
}

TEST(Graph, BindRefusesANegativeDifference) {
  Graph graph;
  graph.dims = {{"B", 8}};
  graph.add_input("x", {DType::f32, {B - 4}});
  EXPECT_EQ(to_string(graph.bind({}).inputs[0]->type), "f32[4]");
  EXPECT_ERROR(graph.bind({{"B", 1}}), "'x' is too large or has a negative dim: f32[-3]");
}

TEST(Graph, MakesNamesUnique) {
  Graph graph;
  for (const char* name : {"x", "x", "", "relu.7"}) graph.add_input(name, {DType::f32, {}});
  graph.make_names_unique();
  EXPECT_EQ(graph.inputs[0]->name, "x");
  EXPECT_EQ(graph.inputs[1]->name, "x.8");
  EXPECT_EQ(graph.inputs[2]->name, "value.9");
  EXPECT_EQ(Builder(graph).unary("relu", graph.inputs[0])->name, "relu.10");
}

TEST(Graph, IsFastEnoughForThousandsOfNodes) {
  Graph graph;
  Builder b(graph);
  Value* x = graph.add_input("x", {DType::f32, {16}});
  for (int i = 0; i < 5000; ++i) x = b.unary(i % 2 ? "relu" : "exp", x);
  graph.outputs = {x};
  graph.output_names = {"y"};
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 1; i < graph.nodes().size(); i += 2) {
    const Node& node = *graph.nodes()[i];
    graph.replace_uses(node.outputs[0], node.inputs[0]);
  }
  graph.remove_dead();
  EXPECT_EQ(graph.nodes().size(), 2500u);
  EXPECT_EQ(graph.uses().size(), 2501u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Constant, Splats) {
  const ConstantPtr third = make_splat(DType::f16, {2, 3}, 1.0 / 3);
  EXPECT_EQ(third->splat(), round_to(DType::f16, 1.0 / 3));
  EXPECT_EQ(third->load()->shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(third->load()->get(5), *third->splat());
  EXPECT_TRUE(std::signbit(make_splat(DType::f32, {2}, -0.0)->load()->get(1)));
  EXPECT_EQ(make_scalar_int(DType::i64, -7)->splat(), -7);
  EXPECT_FALSE(make_scalar_int(DType::i64, (int64_t{1} << 53) + 1)->splat());
}

TEST(Constant, LoadsOnce) {
  int loads = 0;
  const ConstantPtr constant = make_lazy_constant([&] {
    ++loads;
    return std::make_shared<const Tensor>(DType::f32, std::vector<int64_t>{2});
  });
  EXPECT_EQ(loads, 0);
  EXPECT_EQ(constant->load(), constant->load());
  EXPECT_EQ(loads, 1);
}

TEST(Suggest, FindsTheNearest) {
  const std::vector<std::string> names = {"dim", "keepdim", "dtype"};
  EXPECT_EQ(closest_name("dimm", names), "dim");
  EXPECT_EQ(closest_name("dytpe", names), "dtype");
  EXPECT_EQ(closest_name("keep_dim", names), "keepdim");
  EXPECT_EQ(closest_name("weight", names), "");
  EXPECT_EQ(closest_name("", names), "");
  EXPECT_EQ(closest_name(std::string(1 << 20, 'a'), names), "");
  EXPECT_EQ(suggest_op("gleu"), "gelu");
}

}  // namespace
}  // namespace tcc::ir
