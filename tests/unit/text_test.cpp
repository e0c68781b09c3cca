#include "ir/text.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/op.h"
#include "ir/verify.h"
#include "tests/expect_error.h"

namespace tcc::ir {
namespace {

constexpr std::string_view kMlp = R"(graph @mlp(B = 32) {
  %x: f32[B, 784] = input
  %label: i64[B] = input range [0, 10)
  %w1: f32[512, 784] = weight
  %b1: f32[512] = mutable weight
  %half: f32[] = const 0.5
  %h: f32[B, 512] = linear(%x, %w1, %b1)
  %a: f32[B, 512] = gelu(%h) {approximate = "tanh"}
  %m: f32[B, 512] = mul(%a, %half)
  %v: f32[B], %i: i64[B] = max(%m) {dim = [1]}
  return %m as "z", %v, %i
}
)";

TEST(Text, PrintsWhatItParsed) {
  const Graph graph = parse_graph(kMlp);
  verify(graph);
  EXPECT_EQ(print_graph(graph), kMlp);
  EXPECT_EQ(graph.dims.at("B"), 32);
  EXPECT_EQ(graph.inputs[1]->random_range, std::pair(int64_t{0}, int64_t{10}));
  EXPECT_EQ(graph.output_names, (std::vector<std::string>{"z", "v", "i"}));
  EXPECT_EQ(print_graph(graph.clone()), kMlp);
}

TEST(Text, ResultTypesMayBeLeftOut) {
  const Graph graph = parse_graph("graph @g { %x: f32[4]=input %y=relu(%x) return %y }");
  EXPECT_EQ(to_string(graph.outputs[0]->type), "f32[4]");
}

TEST(Text, OmittedOperandsAreUnderscores) {
  const std::string text = R"(graph @g {
  %x: f32[4, 8] = input
  %b: f32[8] = input
  %y: f32[4, 8] = layer_norm(%x, _, %b) {normalized_shape = [8]}
  return %y
}
)";
  EXPECT_EQ(print_graph(parse_graph(text)), text);
}

TEST(Text, ConstantsKeepTheirBits) {
  const std::string text = R"(graph @g {
  %a: f32[] = const 0.1
  %b: f64[] = const 0.1
  %c: f16[2] = const [65504, -0]
  %d: f32[3] = const [nan, inf, -inf]
  %e: u64[] = const 18446744073709551615
  %f: i8[2, 2] = const [-128, 127, 0, 1]
  %g: bool[2] = const [true, false]
  %h: f32[1000, 1000, 1000] = const 1e-45
  %i: i64[2] = const [9223372036854775807, -9223372036854775808]
  %j: f32[0] = const []
  return
}
)";
  const Graph graph = parse_graph(text);
  EXPECT_EQ(print_graph(graph), text);
  EXPECT_EQ(graph.values()[0]->data->load()->get(0), 0.1F);
}

TEST(Text, LargeTensorsAreWeightsByName) {
  Graph graph;
  graph.add_constant(
      "big", {DType::f32, {17}},
      make_constant(std::make_shared<const Tensor>(DType::f32, std::vector<int64_t>{17})));
  EXPECT_NE(print_graph(graph).find("%big: f32[17] = weight"), std::string::npos);
}

TEST(Text, WeightsComeFromTheResolver) {
  ParseOptions options;
  options.weight = [](const std::string& name, const Type& type) {
    EXPECT_EQ(name, "w");
    return make_splat(type.dtype, const_shape(type.shape), 3);
  };
  const Graph graph = parse_graph("graph @g { %w: f32[2] = weight return %w }", options);
  EXPECT_EQ(graph.outputs[0]->data->splat(), 3);
}

TEST(Text, WeightsAreZeroByDefaultAndNotAllocated) {
  const Graph graph = parse_graph(
      "graph @g { %w: f32[1000000, 60000] = weight %b: f32[2] = weight return %w, %b }");
  EXPECT_EQ(graph.outputs[1]->data->load()->get(1), 0);
}

TEST(Text, OddNamesAreQuoted) {
  Graph graph;
  graph.name = "my graph";
  for (const char* name : {"a b", "/encoder/layer.0/Add-1", "\"\\", "line\nend", "\x01", "Größe"})
    graph.add_input(name, {DType::f32, {}});
  graph.outputs = {graph.inputs[0]};
  graph.output_names = {"out \"put\""};
  const std::string text = print_graph(graph);
  EXPECT_NE(text.find("%/encoder/layer.0/Add-1:"), std::string::npos);
  EXPECT_NE(text.find("%\"line\\x0aend\":"), std::string::npos);
  const Graph back = parse_graph(text);
  EXPECT_EQ(print_graph(back), text);
  EXPECT_EQ(back.inputs[3]->name, "line\nend");
  EXPECT_EQ(back.output_names[0], "out \"put\"");
}

TEST(Text, LocationsAreComments) {
  Graph graph;
  Value* x = graph.add_input("x", {DType::f32, {}});
  Builder b(graph);
  b.set_location({std::make_shared<const std::string>("mlp\n.yaml"), 7});
  b.unary("relu", x);
  const std::string text = print_graph(graph, {.locations = true});
  EXPECT_NE(text.find("relu(%x)  # \"mlp\\x0a.yaml:7\"\n"), std::string::npos) << text;
  EXPECT_EQ(print_graph(parse_graph(text)), print_graph(graph));
}

TEST(Text, NewNamesDoNotMeetParsedOnes) {
  Graph graph = parse_graph("graph @g { %relu.1: f32[] = input %x: f32[] = input return %x }");
  Builder b(graph);
  b.unary("relu", graph.inputs[0]);
  b.unary("relu", graph.inputs[0]);
  verify(graph);
}

TEST(Text, ErrorsNameTheLine) {
  const auto parse = [](std::string_view body) {
    return parse_graph("graph @g(B = 2) {\n  %x: f32[B, 3] = input\n" + std::string(body));
  };
  EXPECT_ERROR(parse_graph(""), "text:1: expected 'graph' before the end of the text");
  EXPECT_ERROR(parse("  %y = relu(%z)"), "text:3: %z is not defined above");
  EXPECT_ERROR(parse("\n\n  %y = rleu(%x)"), "text:5: unknown op 'rleu'; did you mean 'relu'?");
  EXPECT_ERROR(parse("%y = softmax(%x) {dimm = 1}"), "text:3: softmax: unknown attribute 'dimm'");
  EXPECT_ERROR(parse("%y = softmax(%x) {dim = a}"), "text:3: expected an integer, not \"a\"");
  EXPECT_ERROR(parse("%y = softmax(%x) {dim = 5}"), "text:3: softmax: ");
  EXPECT_ERROR(parse("%y: f32[B] = relu(%x)"), "text:3: %y is f32[B, 3], not f32[B]");
  EXPECT_ERROR(parse("%y, %z = relu(%x)"), "text:3: relu has 1 results, not 2");
  EXPECT_ERROR(parse("%x = relu(%x)"), "text:3: %x is defined twice");
  EXPECT_ERROR(parse("%c: f32[C] = input"), "text:3: unknown dim 'C'");
  EXPECT_ERROR(parse("%c: f32[-1] = input"), "text:3: f32[-1] has a negative dim");
  EXPECT_ERROR(parse("%c: g32[1] = input"), "text:3: unknown element type 'g32'");
  EXPECT_ERROR(parse("%c = input"), "text:3: %c needs a type");
  EXPECT_ERROR(parse("%c: f32[B] = weight"), "text:3: a constant's shape cannot depend on dims");
  EXPECT_ERROR(parse("%c: f32[1000000, 1000000] = weight"),
               "text:3: f32[1000000, 1000000] is too large");
  EXPECT_ERROR(parse("%c: i8[] = const 200"), "text:3: \"200\" is not a value of i8");
  EXPECT_ERROR(parse("%c: f32[] = const 1e99"), "text:3: \"1e99\" is not a value of f32");
  EXPECT_ERROR(parse("%c: f32[2] = const [1]"), "text:3: expected ','");
  EXPECT_ERROR(parse("%c: f32[1] = const [1, 2]"), "text:3: expected ']' after the 1 elements");
  EXPECT_ERROR(parse("%c: i8[4] = input range [3, 3)"), "text:3: the range [3, 3) is empty");
  EXPECT_ERROR(parse("%\"c"), "text:3: a text without its closing quote");
  EXPECT_ERROR(parse("%\"\\q\""), "text:3: unknown escape");
  EXPECT_ERROR(parse("%y = relu(%x)"), "text:3: expected 'return' before the end of the text");
  EXPECT_ERROR(parse("return %x } more"), "text:3: there is text after the graph");
  EXPECT_ERROR(parse_graph("graph @g(B = 1, B = 2) {"), "text:1: dim B is defined twice");
}

// Damages texts, and holds the parser to its word: a graph that prints as it was parsed, or a
// bad_input error.
class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  // A byte, a piece, or a number in its place.
  void edit(std::string& text) {
    if (text.empty()) return;
    const size_t at = below(text.size());
    switch (below(6)) {
      case 0: text.erase(at, 1 + below(8)); break;
      case 1: text[at] = static_cast<char>(below(256)); break;
      case 2: text.insert(at, text.substr(below(text.size()), below(20))); break;
      case 3: text.resize(at + 1); break;
      default: replace_number(text, at);
    }
  }

  void try_to_parse(const std::string& text) {
    SCOPED_TRACE(text);
    try {
      const Graph graph = parse_graph(text);
      verify(graph);
      const std::string printed = print_graph(graph);
      EXPECT_EQ(print_graph(parse_graph(printed)), printed);
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      EXPECT_EQ(std::string(error.what()).substr(0, 5), "text:") << error.what();
    }
  }

  int refused = 0;

 private:
  void replace_number(std::string& text, size_t at) {
    constexpr std::string_view digits = "0123456789";
    static const std::vector<std::string> numbers = {"0",
                                                     "-1",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "4294967296",
                                                     "B",
                                                     "(B + 1) * B",
                                                     "B // 2",
                                                     "1e308",
                                                     "nan",
                                                     "-inf",
                                                     "true",
                                                     "[]",
                                                     "99999999999999999999"};
    const size_t from = text.find_first_of(digits, at);
    if (from == std::string::npos) return;
    const size_t to = std::min(text.find_first_not_of(digits, from), text.size());
    text.replace(from, to - from, numbers[below(numbers.size())]);
  }

  std::mt19937 random_;
};

TEST(Text, DamagedTextIsSafe) {
  Damage damage(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text(kMlp);
    for (size_t edits = 1 + damage.below(3); edits > 0; --edits) damage.edit(text);
    damage.try_to_parse(text);
  }
  EXPECT_GT(damage.refused, 1000);
}

// The shape rules of all ops get absurd numbers.
TEST(Text, DamagedSamplesOfAllOpsAreSafe) {
  Damage damage(2);
  for (const OpDef& op : all_ops()) {
    for (const OpSample& sample : op.samples) {
      Graph graph;
      graph.dims = {{"B", 4}};
      std::vector<Value*> inputs;
      for (const Type& type : sample.inputs) {
        const std::string name = str("x", inputs.size());
        inputs.push_back(op.stores && inputs.empty() ? graph.add_state(name, type)
                                                     : graph.add_input(name, type));
      }
      graph.outputs = graph.add_node(op, inputs, sample.attrs)->outputs;
      const std::string whole = print_graph(graph);
      for (int round = 0; round < 20; ++round) {
        std::string text = whole;
        for (size_t edits = 1 + damage.below(3); edits > 0; --edits) damage.edit(text);
        damage.try_to_parse(text);
      }
    }
  }
}

}  // namespace
}  // namespace tcc::ir
