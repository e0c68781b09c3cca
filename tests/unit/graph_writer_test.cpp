// Graphs written as YAML and read back: the same nodes, types, attributes and constants.
#include <algorithm>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "frontend/npy.h"
#include "frontend/random_init.h"
#include "frontend/yaml/graph_writer.h"
#include "ir/builder.h"
#include "ir/op.h"
#include "ir/reference/interpreter.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "support/error.h"
#include "tests/source_dir.h"
#include "tests/unit/onnx_fixture.h"
#include "tests/unit/op_runner.h"
#include "tests/unit/tensor_file_fixture.h"

namespace tcc {
namespace {

using ir::Graph;
using ir::Value;

std::vector<const Value*> constants_of(const Graph& graph) {
  std::vector<const Value*> constants;
  for (const auto& value : graph.values())
    if (value->is_constant()) constants.push_back(value.get());
  return constants;
}

Graph live(const Graph& graph) {
  Graph result = graph.clone();
  result.remove_dead();
  return result;
}

// The text of all but the values' names and the constants' data: equal for equal graphs.
std::string structure(const Graph& graph) {
  Graph copy = live(graph);
  int next = 0;
  for (const auto& value : copy.values())
    if (value->is_constant()) {
      value->name = str("c", next++);
      value->data = ir::make_lazy_constant([] { return TensorPtr(); });
    }
  for (Value* input : copy.inputs) input->name = str("i", next++);
  for (const auto& node : copy.nodes())
    for (Value* output : node->outputs) output->name = str("r", next++);
  return ir::print_graph(copy);
}

class GraphWriterTest : public testing::TensorFileTest {
 protected:
  Graph written(const Graph& graph) const {
    write_yaml_graph(graph, folder / "out");
    Graph back = load_graph(folder / "out/graph.yaml");
    ir::verify(back);
    return back;
  }
  std::string text() const { return testing::content_of(folder / "out/graph.yaml"); }
  bool has(const char* file) const { return std::filesystem::exists(folder / "out" / file); }

  // Checks that all of the graph comes back, and gives what was read.
  Graph round_trip(const Graph& graph) const {
    Graph back = written(graph);
    EXPECT_EQ(structure(back), structure(graph)) << text();
    const Graph want = live(graph).bind({}), got = back.bind({});
    const auto wanted = constants_of(want), given = constants_of(got);
    EXPECT_EQ(given.size(), wanted.size());
    for (size_t k = 0; k < std::min(given.size(), wanted.size()); ++k) {
      SCOPED_TRACE(wanted[k]->name);
      testing::expect_same(*given[k]->data->load(), *wanted[k]->data->load());
    }
    return back;
  }
  Graph round_trip(const std::string& graph_text) const {
    return round_trip(ir::parse_graph(graph_text));
  }

  // Both graphs computed on the same random inputs.
  static void expect_same_outputs(const Graph& want_graph, const Graph& got_graph) {
    const Graph want = want_graph.bind({}), got = got_graph.bind({});
    std::vector<ir::RefTensor> inputs;
    for (const Value* input : want.inputs)
      inputs.push_back(ir::to_ref(random_tensor(
          input->dtype(), ir::const_shape(*input),
          is_float(input->dtype()) ? Init::normal(1) : Init::integers(0, 2), inputs.size())));
    const auto wanted = ir::interpret(want, inputs, ir::RefMode::stepwise);
    const auto given = ir::interpret(got, inputs, ir::RefMode::stepwise);
    ASSERT_EQ(given.size(), wanted.size());
    for (size_t k = 0; k < wanted.size(); ++k)
      testing::expect_same(ir::to_tensor(given[k]), ir::to_tensor(wanted[k]));
  }
};

TEST_F(GraphWriterTest, GoldenGraphs) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() / "tests/golden")) {
    if (!exists(entry.path() / "graph.yaml")) continue;
    SCOPED_TRACE(entry.path().string());
    const Graph graph = load_graph(entry.path() / "graph.yaml");
    round_trip(graph);
    EXPECT_FALSE(has("weights.npz"));  // all are drawn: the text is enough
    ++count;
  }
  EXPECT_GE(count, 10);
}

// Every op with its samples' attributes: lists, numbers, texts, types.
TEST_F(GraphWriterTest, EveryOp) {
  for (const ir::OpDef& op : ir::all_ops()) {
    for (const char* key : {"out", "op", "in", "repeat"})
      EXPECT_TRUE(std::ranges::none_of(op.attrs, [&](const auto& a) { return a.name == key; }))
          << op.name << " has an attribute of the name of a node's key " << key;
    for (const ir::OpSample& sample : op.samples) {
      SCOPED_TRACE(op.name);
      round_trip(ir::test::op_graph(op.name, sample.inputs, sample.attrs));
    }
  }
}

TEST_F(GraphWriterTest, SymbolicDims) {
  const Graph graph = round_trip(
      "graph @g(B = 2, null = 3) {\n"
      "%x: f32[B, 2*null + 4] = input\n"
      "%a: f32[B, null + 2, 2] = reshape(%x) {shape = [B, null + 2, 2]}\n"
      "%s = slice(%x) {dim = 1, start = [null], end = [min(null + 2, 2*B)]}\n"
      "%i = iota() {size = [(null + 7) // 8, null % 2, -null + 2*B]}\n"
      "return %a, %s, %i }");
  EXPECT_EQ(graph.dims.at("null"), 3);
  EXPECT_EQ(ir::to_string(graph.inputs[0]->type), "f32[B, null*2+4]");
}

TEST_F(GraphWriterTest, AttributesOfEveryType) {
  round_trip(
      "graph @g { %x: f32[2, 3] = input %m: bool[2, 3] = input %y: f32[1, 1, 4, 4] = input\n"
      "%a = clamp(%x) {min = -0.0, max = 1e-30}\n"
      "%b = masked_fill(%a, %m) {value = nan}\n"
      "%c = masked_fill(%b, %m) {value = -inf}\n"
      "%d = nan_to_num(%c) {nan = 0.1, posinf = inf}\n"
      "%e = slice(%d) {dim = -1, start = [-9223372036854775808], end = [9223372036854775806]}\n"
      "%f = cast(%e) {dtype = bf16}\n"
      "%g = gelu(%x) {approximate = \"tanh\"}\n"
      "%h = einsum(%x, %g) {equation = \"ij,kj -> ik\"}\n"
      "%i = interpolate(%y) {scale_factor = [1.5, 0.5], mode = \"bilinear\"}\n"
      "%j, %k = topk(%x) {k = 1, dim = 1, largest = false}\n"
      "%l = rand() {size = [4], seed = -9223372036854775808, offset = 7}\n"
      "return %f, %h, %i, %j, %k, %l }");
  EXPECT_NE(text().find("value: .nan"), std::string::npos) << text();
  EXPECT_NE(text().find("value: -.inf"), std::string::npos) << text();
  EXPECT_EQ(text().find("sorted"), std::string::npos) << "a default is spelled out";
}

TEST_F(GraphWriterTest, SeveralResultsAndOmittedOperands) {
  const Graph graph = round_trip(
      "graph @g { %x: f32[4, 6] = input %b: f32[6] = input %n: i32[3] = input range "
      "[-2, 5)\n"
      "%v: f32[4, 6], %i: i64[4, 6] = sort(%x)\n"
      "%p: f32[4, 2], %q: f32[4, 2], %r: f32[4, 2] = chunk(%x) {chunks = 3, dim = 1}\n"
      "%l = layer_norm(%v, _, %b) {normalized_shape = [6]}\n"
      "return %l, %i, %q, %n }");
  EXPECT_NE(text().find("in: [v, null, b]"), std::string::npos) << text();
}

TEST_F(GraphWriterTest, Constants) {
  const Graph graph = round_trip(
      "graph @g { %x: f32[2] = input\n"
      "%half: f16[] = const 0.1 %all: f32[2, 2] = const 0.1 %none: f32[2] = const -0\n"
      "%two: f64[2] = const [0.1, nan] %bf: f32[3] = const [1, -inf, nan]\n"
      "%big: i64[2] = const [9223372036854775807, -9223372036854775808]\n"
      "%one: i64[] = const 9007199254740993 %u: u64[] = const 18446744073709551615\n"
      "%yes: bool[] = const true %some: bool[2] = const [true, false]\n"
      "%zero: i8[0, 3] = const [] %i: i32[5] = const -7 %null: f32[2] = mutable weight\n"
      "return %x, %half, %all, %none, %two, %bf, %big, %one, %u, %yes, %some, %zero, %i, %null }");
  EXPECT_TRUE(has("weights.npz"));
  EXPECT_FALSE(has("weights.safetensors"));
  EXPECT_NE(text().find("half: {dtype: f16, shape: [], init: {constant: 0.09"), std::string::npos)
      << text();
  EXPECT_NE(text().find("mutable: true"), std::string::npos) << text();
}

// NaNs keep their bits, and what NumPy lacks its type: every element type with any bytes.
TEST_F(GraphWriterTest, EveryElementType) {
  for (const bool all : {false, true}) {
    Graph graph;
    graph.add_input("x", {DType::f32, {}});
    for (const DTypeInfo& info : all_dtypes()) {
      if (!has_npy_code(info.dtype) && !all) continue;
      for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {3, 5}, {2, 0}}) {
        const ir::Type type{info.dtype, ir::Shape(shape.begin(), shape.end())};
        auto data = std::make_shared<const Tensor>(random(info.dtype, shape));
        Value* value =
            graph.add_constant(str(info.name, "/", shape.size(), ".", shape.empty() ? 0 : shape[1]),
                               type, ir::make_constant(data));
        graph.outputs.push_back(value);
        graph.output_names.push_back(value->name);
      }
    }
    round_trip(graph);
    EXPECT_EQ(has("weights.safetensors"), all);
  }
}

TEST_F(GraphWriterTest, DrawnWeightsStayText) {
  const std::string yaml =
      "tcc: 1\ndims: {D: 3}\ninputs: {x: {dtype: f32, shape: [4, D]}}\n"
      "functions:\n  block:\n    inputs: [x]\n    outputs: [y]\n"
      "    weights: {w: {dtype: f32, shape: [D, D], init: {normal: 0.5}}}\n"
      "    nodes: [{out: y, op: matmul, in: [x, w]}]\n"
      "weights: {u: {dtype: f16, shape: [D], init: {uniform: [-0.5, 1]}},\n"
      "          t: {dtype: i32, shape: [2], init: {integers: [-3, 9]}},\n"
      "          n: {dtype: f32, shape: [D], init: {constant: .nan}},\n"
      "          b: {dtype: f32, shape: [D], init: {constant: 0.1}, mutable: true}}\n"
      "nodes: [{out: z, op: block, in: [x], repeat: 2}, {out: s, op: add, in: [z, b]}]\n"
      "outputs: [s, u, t, n]\n";
  const Graph graph = parse_yaml_graph(yaml, "g.yaml", folder);
  const Graph back = round_trip(graph);
  EXPECT_FALSE(has("weights.npz"));
  expect_same_outputs(graph, back);
  // Other dims than the defaults: the graph is still symbolic.
  expect_same_outputs(graph.bind({{"D", 5}}), back.bind({{"D", 5}}));

  // Another seed gives other numbers, which the text alone does not: a file where it has a shape.
  const GraphFileOptions seeded{.seed = 7};
  testing::expect_bad_input([&] { written(parse_yaml_graph(yaml, "g.yaml", folder, seeded)); },
                            "cannot be written");
  round_trip(parse_yaml_graph(yaml, "g.yaml", folder, seeded).bind({}));
  EXPECT_TRUE(has("weights.npz"));
}

TEST_F(GraphWriterTest, FilesWithSymbolicShapes) {
  const Graph graph = parse_yaml_graph(
      "tcc: 1\ndims: {N: 8}\ninputs: {x: {dtype: f32, shape: [N]}}\n"
      "weights: {w: {file: data/good.npz, key: w, shape: [N]}}\n"
      "nodes: [{out: y, op: add, in: [x, w]}]\noutputs: [y]\n",
      "g.yaml", testing::source_dir() / "tests/error/cases");
  const Graph back = round_trip(graph);
  EXPECT_EQ(ir::to_string(back.outputs[0]->type), "f32[N]");
  EXPECT_THROW(back.bind({{"N", 9}}), Error);
}

TEST_F(GraphWriterTest, OddNamesBecomeLegalAndUnique) {
  const std::string longest(300, 'n');
  const Graph graph = ir::parse_graph(
      "graph @\"a \\\"b\\\" \\x0a c\" { %\"x:0\": f32[2] = input %x_0: f32[2] = input %null: "
      "f32[2] = input\n"
      "%\"8\" = add(%\"x:0\", %x_0) %\"a b\" = relu(%\"8\") %a_b = neg(%\"a b\")\n"
      "%\"\xe6\x97\xa5\" = mul(%a_b, %null) %" +
      longest +
      " = abs(%\"\xe6\x97\xa5\")\n"
      "return %" +
      longest + " as \"y:0\", %a_b as \"~\" }");
  const Graph back = written(graph);
  EXPECT_EQ(back.inputs[0]->name, "x_0");
  EXPECT_EQ(back.inputs[1]->name, "x_0_2");
  EXPECT_EQ(back.inputs[2]->name, "null");
  EXPECT_EQ(back.output_names, (std::vector<std::string>{"y_0", "_"}));
  EXPECT_EQ(back.nodes().size(), graph.nodes().size());
  expect_same_outputs(graph, back);
}

// An output's name stays, whatever its value is called and even if another value has it.
TEST_F(GraphWriterTest, OutputNames) {
  const Graph graph = ir::parse_graph(
      "graph @g { %x: f32[2] = input %w: f32[2] = const [1, 2]\n"
      "%a = relu(%x) %y = neg(%a) %b = abs(%y)\n"
      "return %a as \"y\", %a as \"again\", %x as \"in\", %x, %w as \"c\", %w, %b as \"a\" }");
  const Graph back = written(graph);
  EXPECT_EQ(back.output_names, (std::vector<std::string>{"y", "again", "in", "x", "c", "w", "a"}));
  EXPECT_EQ(back.inputs[0]->name, "x");
  expect_same_outputs(graph, back);
}

TEST_F(GraphWriterTest, WhatNoOutputNeedsIsLeftOut) {
  const Graph graph = ir::parse_graph(
      "graph @g { %x: f32[2] = input %unused: f32[2] = input %w: f32[2] = weight\n"
      "%a = add(%x, %w) %y = neg(%x) return %y }");
  const Graph back = written(graph);
  EXPECT_EQ(back.inputs.size(), 2u);
  EXPECT_EQ(back.nodes().size(), 1u);
  EXPECT_TRUE(constants_of(back).empty());
}

TEST_F(GraphWriterTest, NoNodes) {
  const Graph back = round_trip("graph @g { %x: f32[2] = input return %x }");
  EXPECT_TRUE(back.nodes().empty());
}

TEST_F(GraphWriterTest, RefusesWhatYamlCannotHold) {
  const std::string name(65, 'd');
  const Graph dims =
      ir::parse_graph("graph @g(" + name + " = 2) { %x: f32[" + name + "] = input return %x }");
  testing::expect_bad_input([&] { written(dims); }, "has no name of YAML graphs");
  Graph control = ir::parse_graph(
      "graph @g { %x: f32[2] = input %y = einsum(%x) {equation = \"i->i\"} return %y }");
  control.nodes()[0]->attrs["equation"] = "i\t->i";
  testing::expect_bad_input([&] { written(control); }, "control character");
  const Graph deep = ir::parse_graph(
      "graph @g { %x: f32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] = input return %x }");
  testing::expect_bad_input([&] { written(deep); }, "a rank of 17");
  EXPECT_FALSE(has("graph.yaml"));
}

TEST_F(GraphWriterTest, OnnxModels) {
  testing::OnnxModel model;
  model.input("x:0", {{"batch size", 2, 3}})
      .constant("scale", testing::float_tensor({3}, 0.1f))
      .constant("table", testing::int_tensor({3, 1, -1}))
      .node("Shape", {"x:0"}, {"shape"})
      .node("Mul", {"x:0", "scale"}, {"scaled"})
      .node("Reshape", {"scaled", "flat"}, {"rows"})
      .ints("flat", {-1, 3})
      .node("Gather", {"rows", "table"}, {"y/out:0"}, {{"axis", 1}})
      .output("y/out:0")
      .output("shape");
  const Graph graph = model.import();
  const Graph back = written(graph);
  EXPECT_EQ(ir::to_string(back.inputs[0]->type), "f32[batch_size, 2, 3]");
  EXPECT_EQ(back.inputs[0]->name, "x_0");
  EXPECT_EQ(back.output_names, (std::vector<std::string>{"y/out_0", "shape"}));
  expect_same_outputs(graph, back);
  expect_same_outputs(graph.bind({{"batch_size", 5}}), back.bind({{"batch_size", 5}}));
}

TEST_F(GraphWriterTest, WritesTheSameAgain) {
  written(
      ir::parse_graph("graph @g(B = 3) { %x: f32[B, 2] = input %w: f32[2] = const [1, 3]\n"
                      "%\"a b\" = mul(%x, %w) return %\"a b\" as \"y\" }"));
  const std::string first = text();
  written(load_graph(folder / "out/graph.yaml"));
  EXPECT_EQ(text(), first);
}

}  // namespace
}  // namespace tcc
