// Graphs that are built in C++ and in C.
#include "tcc/graph.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "ir/op.h"
#include "tests/expect_error.h"
#include "tests/run_command.h"
#include "tests/unit/public_api_fixture.h"

#include "tcc/c_api.h"

namespace tcc {
namespace {

using testing::expect_near;
using testing::numbers;

// An error of this file's line `line`.
std::string here(int line, const std::string& words) {
  return std::string(__FILE__) + ":" + std::to_string(line) + ": " + words;
}

struct Head {
  GraphBuilder builder{"head"};
  Dim batch = builder.dim("B", 4);
  GraphValue x = builder.input("x", "f32", {batch, 3});
  GraphValue w = builder.constant("w", HostTensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 1}));
};

std::vector<float> run(const Graph& graph, const std::vector<float>& x) {
  const auto results = run_reference(graph, std::vector{HostTensor::of<float>({4, 3}, x)});
  const auto values = results.at(0).as<float>();
  return {values.begin(), values.end()};
}

TEST(GraphBuilder, BuildsWhatAFileSays) {
  Head head;
  const GraphValue hidden = relu(linear(head.x, head.w) * 2 + 0.5).named("hidden");
  EXPECT_EQ(hidden.dtype(), "f32");
  EXPECT_EQ(hidden.shape(), (std::vector<std::string>{"B", "2"}));
  head.builder.output("y", softmax(hidden, -1));
  const Graph built = head.builder.build();
  EXPECT_EQ(built.name(), "head");
  EXPECT_EQ(built.dims().at("B"), 4);
  EXPECT_EQ(built.inputs().at(0).shape, (std::vector<std::string>{"B", "3"}));
  EXPECT_EQ(built.outputs().at(0).name, "y");

  const Graph read = Graph::from_yaml(R"(
tcc: 1
dims: {B: 4}
inputs: {x: {dtype: f32, shape: [B, 3]}, w: {dtype: f32, shape: [2, 3]}}
nodes:
  - {out: a, op: linear, in: [x, w]}
  - {out: b, op: mul, in: [a, 2]}
  - {out: c, op: add, in: [b, 0.5]}
  - {out: hidden, op: relu, in: [c]}
  - {out: y, op: softmax, in: [hidden], dim: -1}
outputs: [y]
)");
  const std::vector<float> x = numbers(12);
  const auto expected =
      run_reference(read, std::vector{HostTensor::of<float>({4, 3}, x),
                                      HostTensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 1})});
  expect_near(run(built, x), expected.at(0).as<float>());
}

TEST(GraphBuilder, CompilesLikeAGraphOfAFile) {
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  Head head;
  head.builder.output("y", softmax(relu(linear(head.x, head.w)), -1));
  const Graph graph = head.builder.build();
  const std::vector<float> x = numbers(12);
  Context context(compile(graph, "vulkan:0"));
  const auto results = context.run(std::vector{HostTensor::of<float>({4, 3}, x)});
  expect_near(results.at(0).as<float>(), run(graph, x));
}

TEST(GraphBuilder, PrintsAndSavesYaml) {
  Head head;
  const GraphValue ids = head.builder.input("ids", "i64", {"2*B"});
  const GraphValue ones = head.builder.constant("ones", "f32", {"B", 2}, 1);
  head.builder.output("y", linear(head.x, head.w) + ones);
  head.builder.output("z", head.builder.op("clamp", {ids}, {{"min", 1}, {"max", 3}}));
  const Graph graph = head.builder.build();
  const std::string text = graph.to_yaml();
  EXPECT_NE(text.find("x: {dtype: f32, shape: [B, 3]}"), std::string::npos) << text;
  EXPECT_NE(text.find("ones: {dtype: f32, shape: [B, 2], init: ones}"), std::string::npos) << text;
  EXPECT_NE(text.find("file: weights.npz, key: w"), std::string::npos) << text;

  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "graph_builder_saved";
  graph.save(folder);
  const Graph loaded = Graph::load(folder / "graph.yaml");
  EXPECT_EQ(loaded.to_yaml(), text);
  const std::vector<HostTensor> inputs = {HostTensor::of<float>({4, 3}, numbers(12)),
                                          HostTensor("i64", {8})};
  const auto a = run_reference(graph, inputs), b = run_reference(loaded, inputs);
  EXPECT_EQ(a.at(0).bytes, b.at(0).bytes);
  EXPECT_EQ(a.at(1).bytes, b.at(1).bytes);
  std::filesystem::remove_all(folder);
}

TEST(GraphBuilder, GivesAllResultsAndTakesAllAttributes) {
  Head head;
  const auto largest = head.builder.ops("max", {head.x}, {{"dim", {1}}, {"keepdim", true}});
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_EQ(largest[1].dtype(), "i64");
  EXPECT_EQ(largest[0].shape(), (std::vector<std::string>{"B", "1"}));
  EXPECT_EQ(head.builder.op("cast", {head.x}, {{"dtype", "bf16"}}).dtype(), "bf16");
  EXPECT_EQ(reshape(head.x, {"3*B"}).shape(), (std::vector<std::string>{"B*3"}));
  EXPECT_EQ(permute(head.x, {1, 0}).shape(), (std::vector<std::string>{"3", "B"}));
  const GraphValue weight = head.builder.constant("scale", "f32", {3}, 1);
  EXPECT_EQ(head.builder
                .op("layer_norm", {head.x, weight, std::nullopt},
                    {{"normalized_shape", {3}}, {"eps", 1e-3}})
                .shape()
                .size(),
            2u);
}

// Every op of the registry is reached by its name, with the attributes of its samples.
TEST(GraphBuilder, AddsEveryOp) {
  const auto attribute = [](const ir::Attr& attr) -> Attribute {
    if (const auto* dtype = std::get_if<DType>(&attr)) return std::string(name(*dtype));
    if (const auto* list = std::get_if<std::vector<ir::SymInt>>(&attr)) {
      Dims dims;
      for (const ir::SymInt& dim : *list) dims.emplace_back(dim.to_string());
      return dims;
    }
    if (const auto* v = std::get_if<bool>(&attr)) return *v;
    if (const auto* v = std::get_if<int64_t>(&attr)) return *v;
    if (const auto* v = std::get_if<double>(&attr)) return *v;
    if (const auto* v = std::get_if<std::string>(&attr)) return *v;
    return std::get<std::vector<double>>(attr);
  };
  int added = 0;
  for (const ir::OpDef& op : ir::all_ops()) {
    if (op.samples.empty()) continue;
    const ir::OpSample& sample = op.samples.front();
    GraphBuilder builder;
    std::vector<Operand> operands;
    for (const ir::Type& type : sample.inputs) {
      Dims shape;
      for (const ir::SymInt& dim : type.shape) {
        dim.visit_atoms([&](const ir::AtomPtr& atom) {
          try {
            if (atom->kind == ir::Atom::Kind::symbol) builder.dim(atom->name, 2);
          } catch (const Error&) {}  // declared before
        });
        shape.emplace_back(dim.to_string());
      }
      const std::string in = "in" + std::to_string(operands.size());
      operands.emplace_back(op.stores && operands.empty()
                                ? builder.state(in, name(type.dtype), shape)
                                : builder.input(in, name(type.dtype), shape));
    }
    Attributes attributes;
    for (const auto& [key, value] : sample.attrs) attributes.emplace(key, attribute(value));
    if (op.most_counted) builder.dim("N", 0);
    try {
      builder.output("out", builder.op(op.name, operands, attributes));
      builder.build();
      ++added;
    } catch (const Error& error) { ADD_FAILURE() << op.name << ": " << error.what(); }
  }
  EXPECT_GT(added, 200);
}

TEST(GraphBuilder, ErrorsNameTheLineOfTheCall) {
  Head head;
  GraphBuilder& b = head.builder;
  EXPECT_ERROR(b.op("sofmax", {head.x}),
               here(__LINE__ - 1, "unknown op 'sofmax'; did you mean 'softmax'?"));
  const GraphValue m = b.input("m", "f32", {7, 4});
  EXPECT_ERROR(matmul(m, m), here(__LINE__, "matmul: "));
  EXPECT_ERROR(head.x + b.input("i", "f32", {7, 5}), here(__LINE__, "add: "));
  EXPECT_ERROR(b.op("softmax", {head.x}, {{"axis", 1}}), "axis");
  EXPECT_ERROR(b.op("softmax", {head.x}, {{"dim", "one"}}), "dim");
  EXPECT_ERROR(b.op("softmax", {head.x}, {{"dim", 9}}), "out of range");
  EXPECT_ERROR(b.op("relu", {}), "relu: takes (x");
  EXPECT_ERROR(b.op("relu", {std::nullopt}), "is missing");
  EXPECT_ERROR(b.input("x", "f32", {1}), here(__LINE__, "'x' is defined twice"));
  EXPECT_ERROR(b.input("a b", "f32", {1}), "cannot name a value");
  EXPECT_ERROR(b.input("y", "f31", {1}), here(__LINE__, "'f31' is no dtype"));
  EXPECT_ERROR(b.input("y", "f32", {"S"}), "'S' is not declared");
  EXPECT_ERROR(b.input("y", "f32", {"B +"}), here(__LINE__, ""));
  EXPECT_ERROR(b.input("y", "f32", {-1}), here(__LINE__, ""));
  EXPECT_ERROR(b.input("y", "f32", Dims(17, 1)), "a rank of 17");
  EXPECT_ERROR(b.op("reshape", {head.x}, {{"shape", {"S"}}}), "'S' is not declared");
  EXPECT_ERROR(b.dim("B", 2), here(__LINE__, "dim 'B' is defined twice"));
  EXPECT_ERROR(b.dim("C", -1), "cannot be -1");
  EXPECT_ERROR(b.dim("C d", 1), "letters, digits and _");
  EXPECT_ERROR(b.constant("c", "u8", {2}, 256), "does not fit into u8");
  EXPECT_ERROR(b.constant("c", "f32", {std::int64_t{1} << 40, 1 << 30}, 0), here(__LINE__, "'c'"));
  HostTensor damaged("f32", {2});
  damaged.bytes.pop_back();
  EXPECT_ERROR(b.constant("c", damaged), "has 8 bytes, not 7");
  EXPECT_ERROR(b.input("bytes", "u8", {2}) + 300, "does not fit into u8");
  EXPECT_ERROR(b.output("z", GraphValue()), here(__LINE__, "output 'z' is no value"));
  EXPECT_ERROR(GraphValue().shape(), "no value of a graph");
  EXPECT_ERROR(relu(GraphValue()), here(__LINE__, "relu: no operand is a value of a graph"));
  EXPECT_ERROR(b.build(), "has no outputs");
}

TEST(GraphBuilder, NamesAreGivenOnce) {
  Head head;
  const GraphValue sum = head.x + 1;
  const std::string invented = sum.name();
  // A name that was invented for a result gives way.
  const GraphValue input = head.builder.input(invented, "f32", {1});
  EXPECT_EQ(input.name(), invented);
  EXPECT_NE(sum.name(), invented);
  sum.named("sum");
  EXPECT_ERROR(sum.named("total"), "'sum' has a name already");
  EXPECT_ERROR(relu(sum).named("sum"), "'sum' is defined twice");
  head.builder.output("sum", relu(sum));  // outputs have names of their own
  EXPECT_ERROR(head.builder.output("sum", sum), "listed twice");
  EXPECT_EQ(head.builder.build().outputs().at(0).name, "sum");
}

TEST(GraphBuilder, ValuesOfTwoGraphsDoNotMeet) {
  Head one, other;
  EXPECT_ERROR(one.x + other.x, here(__LINE__, "add: operand 1, 'x', is a value of another graph"));
  EXPECT_ERROR(one.builder.output("y", other.x), "is a value of another graph");
}

TEST(GraphBuilder, ABuiltGraphStaysAsItIs) {
  Head head;
  head.builder.output("y", relu(head.x));
  const Graph first = head.builder.build();
  head.builder.output("z", -head.x);
  EXPECT_EQ(first.outputs().size(), 1u);
  EXPECT_EQ(head.builder.build().outputs().size(), 2u);
}

TEST(GraphBuilder, AValueOutlivesItsBuilder) {
  GraphValue x;
  {
    GraphBuilder builder;
    x = builder.input("x", "f32", {2});
  }
  EXPECT_EQ(relu(x).shape(), std::vector<std::string>{"2"});
}

// A running sum, and a counter that begins at 7.
TEST(GraphBuilder, StatesLiveFromRunToRun) {
  GraphBuilder builder("sums");
  const GraphValue x = builder.input("x", "f32", {3});
  const GraphValue sum = builder.state("sum", "f32", {3});
  const GraphValue count = builder.state("count", HostTensor::of<float>({1}, {7}));
  builder.output("total", builder.op("assign", {sum, sum + x}));
  builder.op("assign", {count, count + 1});
  const Graph graph = builder.build();
  const std::string text = graph.to_yaml();
  EXPECT_NE(text.find("sum: {dtype: f32, shape: [3]}"), std::string::npos) << text;
  EXPECT_EQ(Graph::from_yaml(text).to_yaml(), text);
  EXPECT_ERROR(builder.op("assign", {x, sum}), "'x' is no state");
  EXPECT_ERROR(builder.state("x", "f32", {3}), here(__LINE__, "'x' is defined twice"));
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  Context context(compile(graph, "vulkan:0"));
  const std::vector<HostTensor> inputs = {HostTensor::of<float>({3}, {1, 2, 3})};
  context.run(inputs);
  expect_near(context.run(inputs).at(0).as<float>(), std::vector<float>{2, 4, 6});
  EXPECT_EQ(context.state("count").as<float>()[0], 9);
}

TEST(GraphBuilder, TheExampleRuns) {
  if (!std::filesystem::exists(testing::program("build_graph"))) GTEST_SKIP() << "no examples";
  const char* device = testing::has_vulkan() ? "vulkan:0" : "null";
  const testing::Outcome outcome =
      testing::run_command(testing::program("build_graph").string() + " " + device + " 2>&1");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("{out: hidden, op: relu"), std::string::npos) << outcome.text;
  const std::string numbers = "\n8.5\n26.5\n44.5\n62.5\n";
  if (std::strcmp(device, "null") == 0) return;
  EXPECT_TRUE(outcome.text.ends_with(numbers)) << outcome.text;
}

TEST(GraphBuilder, TheDocumentShowsTheExample) {
  const auto read = [](const char* path) {
    std::ifstream file(testing::source_dir() / path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string example = read("examples/build_graph.cpp");
  if (example.empty()) GTEST_SKIP() << "no source tree";
  const size_t begin = example.find("  tcc::GraphBuilder"),
               end = example.find("  const tcc::Compiled");
  EXPECT_NE(read("docs/embedding.md").find(example.substr(begin, end - begin)), std::string::npos);
}

TEST(CBuilder, BuildsTheSameGraph) {
  tcc_builder* builder = nullptr;
  ASSERT_EQ(tcc_builder_create("head", &builder), TCC_OK);
  ASSERT_EQ(tcc_builder_dim(builder, "B", 4), TCC_OK);
  tcc_value x = 0, w = 0, half = 0, hidden = 0, results[2] = {0, 0};
  ASSERT_EQ(tcc_builder_input(builder, "x", "f32", "[B, 3]", &x), TCC_OK) << tcc_last_error();
  const std::int64_t shape[] = {2, 3};
  const float data[] = {1, 2, 3, -1, 0, 1};
  ASSERT_EQ(tcc_builder_constant(builder, "w", "f32", shape, 2, data, sizeof data, &w), TCC_OK);
  ASSERT_EQ(tcc_builder_full(builder, "half", "f32", "[]", 0.5, &half), TCC_OK) << tcc_last_error();
  const tcc_value linear[] = {x, w, TCC_NO_VALUE};
  ASSERT_EQ(tcc_builder_op(builder, "linear", linear, 3, nullptr, &hidden, 1), TCC_OK)
      << tcc_last_error();
  ASSERT_EQ(tcc_builder_name(builder, hidden, "hidden"), TCC_OK) << tcc_last_error();
  const tcc_value mul[] = {hidden, half};
  ASSERT_EQ(tcc_builder_op(builder, "mul", mul, 2, nullptr, &hidden, 1), TCC_OK);
  ASSERT_EQ(tcc_builder_op(builder, "max", &hidden, 1, "{dim: 1, keepdim: true}", results, 2),
            TCC_OK)
      << tcc_last_error();
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_builder_value(builder, results[1], &info), TCC_OK);
  EXPECT_STREQ(info.shape_text, "[B, 1]");
  EXPECT_STREQ(info.dtype, "i64");
  ASSERT_EQ(tcc_builder_output(builder, "largest", results[0]), TCC_OK);

  EXPECT_EQ(tcc_builder_op(builder, "relu", &x, 1, "{slope: 2}", results, 1), TCC_BAD_INPUT);
  EXPECT_NE(std::strstr(tcc_last_error(), "slope"), nullptr) << tcc_last_error();
  EXPECT_EQ(tcc_builder_op(builder, "relu", &x, 1, "{", results, 1), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_builder_op(builder, "relu", &x, 1, nullptr, results, 2), TCC_BAD_INPUT);
  EXPECT_STREQ(tcc_last_error(), "relu: has 1 result, not 2");
  const tcc_value unknown = 99;
  EXPECT_EQ(tcc_builder_op(builder, "relu", &unknown, 1, nullptr, results, 1), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_builder_input(builder, "x", "f32", "[1]", &x), TCC_BAD_INPUT);
  EXPECT_STREQ(tcc_last_error(), "'x' is defined twice");

  tcc_graph* graph = nullptr;
  ASSERT_EQ(tcc_builder_build(builder, &graph), TCC_OK) << tcc_last_error();
  tcc_builder_destroy(builder);
  const char* text = tcc_graph_yaml(graph);
  ASSERT_NE(text, nullptr) << tcc_last_error();
  EXPECT_NE(std::strstr(text, "op: max, in: ["), nullptr) << text;
  EXPECT_EQ(tcc_graph_num_outputs(graph), 1u);
  tcc_graph_destroy(graph);
}

}  // namespace
}  // namespace tcc
