// Inputs and outputs of ONNX and YAML graphs that become a state and its next value.
#include <gtest/gtest.h>

#include "ir/reference/interpreter.h"
#include "ir/verify.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc {
namespace {

using testing::OnnxModel;

// present = past + x, y = 2 * present, z = past.
OnnxModel sums() {
  OnnxModel model;
  model.input("past", {{"B", 3}}).input("x", {{"B", 3}});
  model.constant("two", testing::float_tensor({}, 2));
  model.node("Add", {"past", "x"}, {"present"});
  model.node("Mul", {"present", "two"}, {"y"});
  model.node("Identity", {"past"}, {"z"});
  model.output("present").output("y").output("z");
  return model;
}

TEST(OnnxStates, AnInputAndItsNextValueAreAState) {
  const ir::Graph graph = sums().import({.states = {{"past", "present"}}});
  EXPECT_EQ(testing::input_names(graph), testing::OnnxNames{"x"});
  EXPECT_EQ(graph.output_names, (std::vector<std::string>{"y", "z"}));
  ASSERT_EQ(graph.states.size(), 1u);
  EXPECT_EQ(graph.states[0]->name, "past");
  const ir::Graph bound = graph.bind({{"B", 2}});
  ir::RefStates states;
  ir::InterpretOptions options;
  options.states = &states;
  Tensor x(DType::f32, {2, 3});
  for (int64_t i = 0; i < 6; ++i) x.set(i, static_cast<double>(i));
  const std::vector<ir::RefTensor> inputs = {ir::to_ref(x)};
  for (int run = 1; run <= 3; ++run) {
    const auto outputs = ir::interpret(bound, inputs, ir::RefMode::stepwise, options);
    EXPECT_EQ(ir::to_tensor(outputs[0]).get(5), 10 * run);
    EXPECT_EQ(ir::to_tensor(outputs[1]).get(5), 5 * (run - 1)) << "the value as the run began";
  }
}

TEST(OnnxStates, AValueOfTwoNamesStaysAnOutput) {
  OnnxModel model = sums();
  model.node("Identity", {"present"}, {"again"}).output("again");
  const ir::Graph graph = model.import({.states = {{"past", "present"}}});
  EXPECT_EQ(graph.output_names, (std::vector<std::string>{"y", "z", "again"}));
}

TEST(OnnxStates, TwoInputsTradePlaces) {
  OnnxModel model;
  model.input("a", {{4}}).input("b", {{4}}).input("x", {{4}});
  model.node("Identity", {"b"}, {"a2"}).node("Add", {"a", "x"}, {"b2"});
  model.node("Sub", {"a", "b"}, {"y"});
  model.output("a2").output("b2").output("y");
  const ir::Graph graph = model.import({.states = {{"a", "a2"}, {"b", "b2"}}});
  EXPECT_EQ(graph.states.size(), 2u);
  EXPECT_EQ(graph.output_names, std::vector<std::string>{"y"});
}

// present = Concat(past, 2 x), y = sum of present, and of past.
OnnxModel cache(int64_t axis = 1) {
  OnnxModel model;
  model.input("past", {{2, "P", 3}}).input("x", {{2, "N", 3}});
  model.constant("two", testing::float_tensor({}, 2));
  model.node("Mul", {"x", "two"}, {"rows"});
  model.node("Concat", {"past", "rows"}, {"present"}, {{"axis", axis}});
  model.node("ReduceSum", {"present"}, {"y"}, {{"keepdims", 0}});
  model.node("Neg", {"past"}, {"z"});
  model.node("Shape", {"present"}, {"size"});
  model.output("present").output("y").output("z").output("size");
  return model;
}

TEST(OnnxStates, AConcatOfThePastGrows) {
  for (const int64_t axis : {1, -2}) {
    const ir::Graph graph = cache(axis).import({.states = {{"past", "present"}}});
    ir::verify(graph);
    EXPECT_EQ(testing::input_names(graph), testing::OnnxNames{"x"});
    EXPECT_EQ(graph.output_names, (std::vector<std::string>{"y", "z", "size"}));
    ASSERT_EQ(graph.states.size(), 1u);
    EXPECT_EQ(ir::to_string(graph.states[0]->type), "f32[2, N+P, 3]");
    EXPECT_TRUE(std::ranges::none_of(graph.nodes(),
                                     [](const auto& node) { return node->op_name() == "cat"; }));
    ir::RefStates states;
    ir::InterpretOptions options;
    options.states = &states;
    const ir::Graph bound = graph.bind({{"P", 2}, {"N", 3}});
    Tensor x(DType::f32, {2, 3, 3});
    for (int64_t i = 0; i < 18; ++i) x.set(i, 1);
    const std::vector<ir::RefTensor> inputs = {ir::to_ref(x)};
    const auto outputs = ir::interpret(bound, inputs, ir::RefMode::stepwise, options);
    EXPECT_EQ(ir::to_tensor(outputs[0]).get(0), 36);
    EXPECT_EQ(outputs[1].shape, (std::vector<int64_t>{2, 2, 3})) << "the old rows";
    EXPECT_EQ(ir::to_tensor(outputs[2]).get_int(1), 5);
    const Tensor after = ir::to_tensor(states.at(bound.states[0]));
    EXPECT_EQ(after.get(5), 0) << "a row that was there";
    EXPECT_EQ(after.get(6), 2) << "a new one";
  }
}

TEST(OnnxStates, WhatDoesNotGrowIsRefused) {
  const auto import = [](const OnnxModel& model) {
    return model.import({.states = {{"past", "present"}}});
  };
  EXPECT_ERROR(cache().import({.dims = {{"P", 2}}, .states = {{"past", "present"}}}),
               "the input is f32[2, 2, 3], the output f32[2, N+2, 3]; a state keeps its type, or "
               "the output is the input with more rows (Concat) along a dim that is no number");
  OnnxModel turned;  // the new rows come first
  turned.input("past", {{"P", 3}}).input("x", {{1, 3}});
  turned.node("Concat", {"x", "past"}, {"present"}, {{"axis", 0}});
  turned.node("Neg", {"x"}, {"y"}).output("present").output("y");
  EXPECT_ERROR(import(turned), "a state keeps its type");
  OnnxModel other;  // along another dim than the one that differs in name
  other.input("past", {{"P", 3}}).input("x", {{"P", 2}});
  other.node("Concat", {"past", "x"}, {"present"}, {{"axis", 1}});
  other.node("Neg", {"x"}, {"y"}).output("present").output("y");
  EXPECT_ERROR(import(other), "a state keeps its type");
}

TEST(OnnxStates, WhatDoesNotFitIsRefused) {
  const auto import = [](const OnnxModel& model, const StatePairs& pairs) {
    return model.import({.states = pairs});
  };
  EXPECT_ERROR(import(sums(), {{"pasd", "present"}}),
               "m.onnx: state 'pasd', next value 'present': the graph has no such input; did you "
               "mean 'past'?");
  EXPECT_ERROR(import(sums(), {{"past", "w"}}), "next value 'w': the graph has no such output");
  EXPECT_ERROR(import(sums(), {{"past", "present"}, {"past", "y"}}),
               "state 'past', next value 'y': the graph has no such input");
  EXPECT_ERROR(import(sums(), {{"past", "present"}, {"x", "present"}}),
               "state 'x', next value 'present': the graph has no such output");
  EXPECT_ERROR(import(sums(), {{"two", "present"}}), "the graph has no such input");

  OnnxModel alone;
  alone.input("past", {{3}}).node("Neg", {"past"}, {"present"}).output("present");
  EXPECT_ERROR(import(alone, {{"past", "present"}}), "no output is left");

  OnnxModel narrow;
  narrow
      .input("past", {{3}}, 21)  // UINT4
      .input("x", {{3}}, testing::pb::TensorProto::UINT8)
      .node("Identity", {"x"}, {"present"})
      .node("Identity", {"x"}, {"y"})
      .output("present")
      .output("y");
  EXPECT_ERROR(import(narrow, {{"past", "present"}}), "their elements are of two types");
}

TEST(YamlStates, AreNamedTheSameWay) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\n"
      "inputs: {past: {dtype: f32, shape: [3]}, x: {dtype: f32, shape: [3]}}\n"
      "nodes: [{out: present, op: add, in: [past, x]}, {out: y, op: neg, in: [present]}]\n"
      "outputs: [present, y]\n",
      "g.yaml", ".", {.states = {{"past", "present"}}});
  ir::verify(graph);
  EXPECT_EQ(graph.states.size(), 1u);
  EXPECT_EQ(graph.output_names, std::vector<std::string>{"y"});
}

// Its value would be dropped.
TEST(OnnxStates, AGivenInputIsNoState) {
  struct Given final : GivenInputs {
    std::optional<TensorInfo> info(const std::string& name) const override {
      if (name != "past") return std::nullopt;
      return TensorInfo{DType::f32, {2, 3}};
    }
    TensorPtr load(const std::string&) const override { return nullptr; }
  } given;
  EXPECT_ERROR(sums().import({.inputs = &given, .states = {{"past", "present"}}}),
               "input 'past' is given, and becomes a state, which begins with zeros: "
               "--load-states gives its first value");
}

}  // namespace
}  // namespace tcc
