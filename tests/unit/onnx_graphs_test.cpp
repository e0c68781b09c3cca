// ONNX models: names, constants, functions, control flow and sequences.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/graph.h"
#include "ir/reference/interpreter.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc::testing {
namespace {

constexpr int kI64 = pb::TensorProto::INT64;

size_t count_op(const ir::Graph& graph, std::string_view op) {
  return static_cast<size_t>(std::ranges::count_if(
      graph.nodes(), [&](const auto& node) { return node->op_name() == op; }));
}

// The elements of the only output, of a graph without inputs.
std::vector<double> elements(const ir::Graph& graph) {
  const Tensor result = ir::to_tensor(ir::interpret(graph, {}, ir::RefMode::stepwise).at(0));
  std::vector<double> values;
  for (int64_t k = 0; k < result.numel(); ++k) values.push_back(result.get(k));
  return values;
}

// ---- names, operators, attributes

TEST(OnnxNames, AreThoseOfTheFileAndUnique) {
  const ir::Graph graph = OnnxModel()
                              .input("add.0", {{2}})
                              .node("Add", {"add.0", "add.0"}, {"a/b:0"})
                              .node("Gelu", {"a/b:0"}, {"y"})
                              .output("y")
                              .input("unused", {{3}})
                              .import({}, "m.onnx");
  EXPECT_EQ(input_names(graph), (OnnxNames{"add.0", "unused"}));
  EXPECT_EQ(graph.output_names, OnnxNames{"y"});
  std::set<std::string> names;
  for (const auto& value : graph.values()) EXPECT_TRUE(names.insert(value->name).second);
  EXPECT_TRUE(names.contains("a/b:0"));
}

TEST(OnnxNodes, AnUnknownOperatorIsRefusedWithASuggestion) {
  OnnxModel model;
  model.input("x", {{2}}).node("Sofmax", {"x"}, {"y"}).output("y");
  EXPECT_ERROR(model.import(),
               "m.onnx: node 0 (Sofmax): operator 'Sofmax' is not supported; did "
               "you mean 'Softmax'?");
  model.graph().mutable_node(0)->set_domain("my.domain");
  model.graph().mutable_node(0)->set_name("last");
  EXPECT_ERROR(model.import(),
               "m.onnx: node 0 'last' (Sofmax): operator 'Sofmax' of domain "
               "'my.domain' is not supported");
}

// Operators in branches that are not taken, and in functions, are named too; each once, with its
// nodes counted.
TEST(OnnxNodes, AllUnknownOperatorsAreNamed) {
  OnnxModel model;
  pb::GraphProto branch = subgraph({}, {"b"});
  add_node(branch, "Foo", {"x"}, {"b"});
  model.input("x", {{2}}).number("yes", 1);
  model.node("Relu", {"x"}, {"r"}).node("Sofmax", {"r"}, {"s"}).node("Foo", {"s"}, {"f"});
  model.graph().mutable_node(2)->set_name("conv1");
  model.node("If", {"yes"}, {"i"}, {{"then_branch", branch}, {"else_branch", branch}});
  model.node("Bar", {"i"}, {"y"}).output("y");
  model.graph().mutable_node(4)->set_domain("my.domain");
  EXPECT_ERROR(model.import(),
               "m.onnx: 3 operators are not supported: 'Sofmax' (1 node, node 1; did you mean "
               "'Softmax'?), 'Foo' (3 nodes, the first of them 'conv1'), 'Bar' of domain "
               "'my.domain' (1 node, node 4)");
}

TEST(OnnxNodes, AnOpsetThatIsNewerIsReadWithAWarning) {
  std::vector<std::string> warnings;
  const auto import = [&](int64_t opset, const OnnxAttributes& attributes) {
    OnnxModel model(opset);
    model.input("x", {{2}}).node("Relu", {"x"}, {"y"}, attributes).output("y");
    GraphFileOptions options;
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    model.import(options);
  };
  import(28, {});
  EXPECT_TRUE(warnings.empty());
  import(31, {});
  EXPECT_EQ(warnings, OnnxNames{"m.onnx: the model is of opset 31; its operators are read as those "
                                "of opset 28, the newest that this tcc knows"});
  EXPECT_ERROR(import(31, {{"slope", 1.0f}}), "attribute 'slope' is not supported");
}

TEST(OnnxNodes, NothingIsIgnoredInSilence) {
  const auto refuse = [](const OnnxNames& inputs, const OnnxAttributes& attributes,
                         const char* words) {
    EXPECT_ERROR(
        OnnxModel().input("x", {{2}}).node("Relu", inputs, {"y"}, attributes).output("y").import(),
        words);
  };
  refuse({"x"}, {{"alpha", 1.0f}}, "m.onnx: node 0 (Relu): attribute 'alpha' is not supported");
  refuse({"x", "x"}, {}, "m.onnx: node 0 (Relu): input 1 is not supported");
  refuse({}, {}, "m.onnx: node 0 (Relu): input 0 is missing");
  refuse({""}, {}, "m.onnx: node 0 (Relu): input 0 is missing");
  refuse({"z"}, {}, "m.onnx: node 0 (Relu): unknown value 'z'");
}

TEST(OnnxNodes, AttributesHaveTheRightTypeAndStandOnce) {
  const auto refuse = [](const OnnxAttributes& attributes, const char* words) {
    EXPECT_ERROR(OnnxModel()
                     .input("x", {{2, 3}})
                     .node("Transpose", {"x"}, {"y"}, attributes)
                     .output("y")
                     .import(),
                 words);
  };
  refuse({{"perm", 1}}, "attribute 'perm': must be a list of integers");
  refuse({{"perm", float_tensor({2}, 1)}}, "attribute 'perm': must be a list of integers");
  refuse({OnnxAttribute::reference("perm", "a")},
         "attribute 'perm': refers to an attribute outside a function");
  const std::vector<int64_t> swapped = {1, 0};
  refuse({{"perm", swapped}, {"perm", swapped}}, "attribute 'perm' is listed twice");
}

TEST(OnnxNodes, ASecondResultThatIsNotSupportedIsRefused) {
  EXPECT_ERROR(OnnxModel().input("x", {{2}}).node("Relu", {"x"}, {"y", "z"}).output("y").import(),
               "m.onnx: node 0 (Relu): output 1 is not supported");
}

TEST(OnnxNodes, OutputsAreOfTheDeclaredType) {
  OnnxModel model;
  model.input("x", {{2}}).node("Relu", {"x"}, {"y"}).output("y", kI64);
  EXPECT_ERROR(model.import(), "m.onnx: output 'y' is declared as i64, but is f32");
}

// ---- initialisers

TEST(OnnxInitialisers, AmongTheInputsAreConstants) {
  OnnxModel model;
  model.constant("w", float_tensor({2}, 3)).input("x", {{2}}).input("w", {{2}});
  model.node("Add", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(input_names(model.import()), OnnxNames{"x"});
  model.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(kI64);
  EXPECT_ERROR(model.import(), "m.onnx: input 'w' is declared as i64, but is f32");
}

TEST(OnnxInitialisers, AnInputStandsOnce) {
  EXPECT_ERROR(OnnxModel()
                   .input("x", {{2}})
                   .input("x", {{3}})
                   .node("Relu", {"x"}, {"y"})
                   .output("y")
                   .import(),
               "m.onnx: input 'x' is listed twice");
}

// ---- functions

pb::FunctionProto& add_function(OnnxModel& model, const std::string& name, const OnnxNames& inputs,
                                const OnnxNames& outputs) {
  pb::FunctionProto& function = *model.proto.add_functions();
  function.set_name(name);
  function.set_domain("local");
  function.add_opset_import()->set_version(17);
  function.add_opset_import()->set_domain("local");
  function.mutable_opset_import(1)->set_version(1);
  for (const std::string& input : inputs) function.add_input(input);
  for (const std::string& output : outputs) function.add_output(output);
  return function;
}

OnnxModel& call(OnnxModel& model, const std::string& name, const OnnxNames& inputs,
                const OnnxNames& outputs, const OnnxAttributes& attributes = {}) {
  add_node(model.graph(), name, inputs, outputs, attributes).set_domain("local");
  return model;
}

TEST(OnnxFunctions, AreExpandedWithTheCallsAttributes) {
  OnnxModel model;
  pb::FunctionProto& inner = add_function(model, "Inner", {"a"}, {"b"});
  inner.add_attribute("slope");
  add_node(inner, "LeakyRelu", {"a"}, {"b"}, {OnnxAttribute::reference("alpha", "slope")});
  pb::FunctionProto& outer = add_function(model, "Outer", {"a", "omitted"}, {"c"});
  outer.add_attribute("alpha");
  add_node(outer, "Inner", {"a"}, {"b"}, {OnnxAttribute::reference("slope", "alpha")})
      .set_domain("local");
  add_node(outer, "Neg", {"b"}, {"c"});
  model.constant("x", float_tensor({1}, -4)).output("y").output("z");
  call(model, "Outer", {"x"}, {"y"}, {{"alpha", 0.5f}});
  call(model, "Outer", {"x", ""}, {"z"});  // LeakyRelu's own default, 0.01
  const ir::Graph graph = model.import();
  const auto results = ir::interpret(graph, {}, ir::RefMode::stepwise);
  EXPECT_EQ(ir::to_tensor(results[0]).get(0), 2);
  EXPECT_NEAR(ir::to_tensor(results[1]).get(0), 0.04, 1e-6);
}

TEST(OnnxFunctions, DefaultsOfAttributesAreRead) {
  OnnxModel model;
  pb::FunctionProto& function = add_function(model, "F", {"a"}, {"b"});
  add_node(function, "LeakyRelu", {"a"}, {"b"}, {OnnxAttribute::reference("alpha", "slope")});
  // FunctionProto.attribute_proto, which the message class may lack: field 11.
  std::string wire = function.SerializeAsString();
  const std::string slope = OnnxAttribute("slope", 0.5f).proto.SerializeAsString();
  wire += std::string(1, static_cast<char>(11 << 3 | 2)) + static_cast<char>(slope.size()) + slope;
  ASSERT_TRUE(function.ParseFromString(wire));
  model.constant("x", float_tensor({1}, -4)).output("y");
  call(model, "F", {"x"}, {"y"});
  EXPECT_EQ(elements(model.import()), std::vector<double>{-2});
  model.graph().mutable_node(0)->mutable_attribute()->Add()->CopyFrom(
      OnnxAttribute("slope", 0.25f).proto);
  EXPECT_EQ(elements(model.import()), std::vector<double>{-1});
}

TEST(OnnxFunctions, SeeTheirOwnNamesOnly) {
  OnnxModel model;
  pb::FunctionProto& function = add_function(model, "F", {"a"}, {"b"});
  add_node(function, "Add", {"a", "x"}, {"b"});
  model.input("x", {{2}}).output("y");
  call(model, "F", {"x"}, {"y"});
  EXPECT_ERROR(model.import(), "m.onnx: node 0 (F): node 0 (Add): unknown value 'x'");
}

TEST(OnnxFunctions, ThatCallEachOtherAreRefused) {
  OnnxModel model;
  for (const auto& [name, other] : {std::pair("F", "G"), std::pair("G", "F")})
    add_node(add_function(model, name, {"a"}, {"b"}), other, {"a"}, {"b"}).set_domain("local");
  model.input("x", {{2}}).output("y");
  call(model, "F", {"x"}, {"y"});
  EXPECT_ERROR(model.import(), "functions are nested deeper than 32");
}

TEST(OnnxFunctions, WhatDoesNotFitTheCallIsRefused) {
  OnnxModel model;
  add_node(add_function(model, "F", {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  model.input("x", {{2}}).output("y");
  call(model, "F", {"x", "x"}, {"y"});
  EXPECT_ERROR(model.import(), "m.onnx: node 0 (F): function takes 1 input, not 2");
  model.graph().mutable_node(0)->mutable_input()->RemoveLast();
  *model.graph().mutable_node(0)->add_attribute() = OnnxAttribute("a", 1).proto;
  EXPECT_ERROR(model.import(), "m.onnx: node 0 (F): function has no attribute 'a'");
}

// ---- control flow

TEST(OnnxControlFlow, IfTakesTheKnownBranchAndSeesOuterNames) {
  OnnxModel model;
  model.input("x", {{"B", 4}}).node("Shape", {"x"}, {"shape"}).number("one", 1).number("four", 4);
  model.node("Gather", {"shape", "one"}, {"c"}).node("Equal", {"c", "four"}, {"is_four"});
  pb::GraphProto yes = subgraph({}, {"r"}), no = subgraph({}, {"r"});
  add_node(yes, "Relu", {"x"}, {"r"});
  add_node(no, "Nonsense", {"x"}, {"r"});  // of a branch that is not taken nothing is asked
  model.node("If", {"is_four"}, {"y"}, {{"then_branch", yes}, {"else_branch", no}}).output("y");
  const ir::Graph graph = model.import();
  EXPECT_EQ(count_op(graph, "relu"), 1u);
  EXPECT_EQ(output_type(graph), "f32[B, 4]");
}

// s = 1; `turns` times: s = s + s; slices are the turn's number.
OnnxModel doubling(int64_t turns) {
  OnnxModel model;
  pb::GraphProto body = subgraph({"turn", "go", "s"}, {"go_on", "t", "slice"});
  add_node(body, "Identity", {"go"}, {"go_on"});
  add_node(body, "Add", {"s", "s"}, {"t"});
  add_node(body, "Identity", {"turn"}, {"slice"});
  model.number("turns", turns).constant("one", float_tensor({1}, 1));
  model.node("Loop", {"turns", "", "one"}, {"y", "slices"}, {{"body", body}});
  return model;
}

TEST(OnnxControlFlow, LoopsAreUnrolled) {
  EXPECT_EQ(elements(doubling(5).output("y").import()), std::vector<double>{32});
  EXPECT_EQ(elements(doubling(5).output("slices").import()), (std::vector<double>{0, 1, 2, 3, 4}));
}

TEST(OnnxControlFlow, ALoopMayHaveNoTurn) {
  for (const int64_t turns : {0, -1}) {
    OnnxModel model = doubling(turns);
    EXPECT_ERROR(model.import(),
                 "m.onnx: node 0 (Loop): no turn is taken, and what is stacked as "
                 "'slice' has no declared shape");
    pb::GraphProto& body = *model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
    set_type(*body.mutable_output(2), "slice", kI64, {{3}});
    EXPECT_EQ(elements(OnnxModel(model).output("y").import()), std::vector<double>{1});
    EXPECT_EQ(output_type(OnnxModel(model).output("slices").import()), "i64[0, 3]");
  }
}

TEST(OnnxControlFlow, ALoopEndsByItsCondition) {
  OnnxModel model;
  pb::GraphProto body = subgraph({"turn", "go", "s"}, {"go_on", "t"});
  add_node(body, "Add", {"s", "s"}, {"t"});
  add_node(body, "Less", {"t", "limit"}, {"go_on"});
  model.number("one", 1).number("limit", 100);
  model.node("Loop", {"", "", "one"}, {"y"}, {{"body", body}}).output("y");
  EXPECT_EQ(elements(model.import()), std::vector<double>{128});
}

TEST(OnnxControlFlow, ALoopOverADimNeedsIt) {
  OnnxModel model;
  pb::GraphProto body = subgraph({"turn", "go", "s"}, {"go", "t"});
  add_node(body, "Relu", {"s"}, {"t"});
  model.input("x", {{"N"}}).node("Shape", {"x"}, {"n"});
  model.node("Loop", {"n", "", "x"}, {"y"}, {{"body", body}}).output("y");
  EXPECT_ERROR(model.import(),
               "m.onnx: node 1 (Loop): input 0 must be a number, but is N; bind "
               "its dims (--dim)");
  EXPECT_EQ(count_op(model.import({.dims = {{"N", 3}}}), "relu"), 3u);
}

OnnxModel running_sum(int64_t length) {
  OnnxModel model;
  pb::GraphProto body = subgraph({"s", "x"}, {"t", "slice"});
  add_node(body, "Add", {"s", "x"}, {"t"});
  add_node(body, "Identity", {"t"}, {"slice"});
  pb::TensorProto xs = float_tensor({length}, 1);
  for (int k = 0; k < xs.float_data_size(); ++k) xs.set_float_data(k, static_cast<float>(k + 1));
  model.constant("start", float_tensor({}, 0)).constant("xs", xs);
  model.node("Scan", {"start", "xs"}, {"y", "sums"}, {{"body", body}, {"num_scan_inputs", 1}});
  return model;
}

TEST(OnnxControlFlow, ScansAreUnrolled) {
  EXPECT_EQ(elements(running_sum(4).output("y").import()), std::vector<double>{10});
  EXPECT_EQ(elements(running_sum(4).output("sums").import()), (std::vector<double>{1, 3, 6, 10}));
}

TEST(OnnxControlFlow, AScanOverNothingStacksNothing) {
  OnnxModel model = running_sum(0);
  EXPECT_ERROR(model.import(), "m.onnx: node 0 (Scan): no turn is taken");
  pb::GraphProto& body = *model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  set_type(*body.mutable_output(1), "slice", pb::TensorProto::FLOAT, std::vector<OnnxDim>());
  EXPECT_EQ(elements(OnnxModel(model).output("y").import()), std::vector<double>{0});
  EXPECT_EQ(output_type(OnnxModel(model).output("sums").import()), "f32[0]");
}

// ---- sequences

TEST(OnnxSequences, AreListsWhileImporting) {
  OnnxModel model;
  model.constant("a", float_tensor({1}, 1)).constant("b", float_tensor({2}, 2));
  model.constant("c", float_tensor({1}, 3)).number("last", -1).number("first", 0);
  model.node("SequenceConstruct", {"a", "b"}, {"s"}).node("SequenceInsert", {"s", "c"}, {"t"});
  model.node("SequenceErase", {"t", "first"}, {"u"});
  model.node("ConcatFromSequence", {"u"}, {"all"}, {{"axis", 0}});
  model.node("SequenceAt", {"t", "last"}, {"end"}).node("SequenceLength", {"t"}, {"length"});
  EXPECT_EQ(elements(OnnxModel(model).output("all").import()), (std::vector<double>{2, 2, 3}));
  EXPECT_EQ(elements(OnnxModel(model).output("end").import()), std::vector<double>{3});
  EXPECT_EQ(elements(OnnxModel(model).output("length").import()), std::vector<double>{3});
  EXPECT_ERROR(OnnxModel(model).output("t").import(), "m.onnx: output 't' is a sequence");
}

TEST(OnnxSequences, WhereATensorIsExpectedAreRefused) {
  OnnxModel model;
  model.constant("a", float_tensor({1}, 1)).node("SequenceConstruct", {"a"}, {"s"});
  model.node("Relu", {"s"}, {"y"}).output("y");
  EXPECT_ERROR(model.import(), "m.onnx: node 1 (Relu): input 0 is a sequence, not a tensor");
}

TEST(OnnxSequences, SplitToSequence) {
  OnnxModel model;
  model.constant("x", float_tensor({5, 2}, 1)).number("two", 2).number("at", 2);
  model.node("SplitToSequence", {"x", "two"}, {"s"}, {{"axis", 0}});
  model.node("SequenceAt", {"s", "at"}, {"y"}).output("y");
  EXPECT_EQ(output_type(model.import()), "f32[1, 2]");
}

}  // namespace
}  // namespace tcc::testing
