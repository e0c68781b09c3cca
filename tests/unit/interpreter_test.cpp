#include "ir/reference/interpreter.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/text.h"
#include "tests/expect_error.h"

namespace tcc::ir {
namespace {

RefTensor floats(DType dtype, std::vector<int64_t> shape, std::vector<double> values) {
  RefTensor tensor(dtype, std::move(shape));
  tensor.f = std::move(values);
  return tensor;
}

RefTensor integers(DType dtype, std::vector<int64_t> values) {
  RefTensor tensor(dtype, {static_cast<int64_t>(values.size())});
  tensor.i = std::move(values);
  return tensor;
}

std::vector<RefTensor> run(std::string_view text, const std::vector<RefTensor>& inputs,
                           RefMode mode = RefMode::ideal) {
  return interpret(parse_graph(text).bind({}), inputs, mode);
}

TEST(Interpreter, RunsAGraph) {
  const auto outputs = run(R"(graph @g(B = 2) {
    %x: f32[B, 2] = input
    %w: f32[3, 2] = const [1, 2, 3, 4, 5, 6]
    %h = linear(%x, %w)
    %y = relu(%h)
    return %y, %h, %x, %y
  })",
                           {floats(DType::f32, {2, 2}, {1, 0, 0, -1})});
  ASSERT_EQ(outputs.size(), 4u);
  EXPECT_EQ(outputs[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(outputs[0].f, (std::vector<double>{1, 3, 5, 0, 0, 0}));
  EXPECT_EQ(outputs[1].f, (std::vector<double>{1, 3, 5, -2, -4, -6}));
  EXPECT_EQ(outputs[2].f, (std::vector<double>{1, 0, 0, -1}));
  EXPECT_EQ(outputs[3].f, outputs[0].f);
}

TEST(Interpreter, StepwiseRoundsEveryOp) {
  const std::string_view text = R"(graph @g {
    %x: f16[1] = input
    %one: f16[] = const 1
    %a = add(%x, %one)
    %b = sub(%a, %one)
    return %b
  })";
  const std::vector<RefTensor> x = {floats(DType::f16, {1}, {0x1p-12})};
  EXPECT_EQ(run(text, x, RefMode::ideal)[0].f[0], 0x1p-12);
  EXPECT_EQ(run(text, x, RefMode::stepwise)[0].f[0], 0);
}

TEST(Interpreter, CompositesAreRoundedOnce) {
  const std::string_view text = R"(graph @g {
    %x: f16[1, 3] = input
    %w: f16[1, 3] = input
    %b: f16[1] = input
    %y = linear(%x, %w, %b)
    return %y
  })";
  // The sum of products is 2049, which f16 rounds to 2048; with the bias of 1 it is 2050.
  const std::vector<RefTensor> inputs = {floats(DType::f16, {1, 3}, {2048, 1, 0}),
                                         floats(DType::f16, {1, 3}, {1, 1, 1}),
                                         floats(DType::f16, {1}, {1})};
  EXPECT_EQ(run(text, inputs, RefMode::stepwise)[0].f[0], 2050);
}

TEST(Interpreter, IntegersWrapInBothModes) {
  for (const RefMode mode : {RefMode::ideal, RefMode::stepwise}) {
    const auto outputs = run(R"(graph @g {
      %x: i8[2] = input
      %y = add(%x, %x)
      %z = mul(%y, %y)
      return %y, %z
    })",
                             {integers(DType::i8, {100, -128})}, mode);
    EXPECT_EQ(outputs[0].i, (std::vector<int64_t>{-56, 0}));
    EXPECT_EQ(outputs[1].i, (std::vector<int64_t>{64, 0}));
  }
}

TEST(Interpreter, SkipsWhatNoOutputNeeds) {
  Graph graph = parse_graph(R"(graph @g {
    %x: f32[2] = input
    %w: f32[2] = weight
    %dead = add(%x, %w)
    %y = exp(%x)
    return %y
  })",
                            {.weight = [](const std::string&, const Type&) {
                              return make_lazy_constant([]() -> TensorPtr {
                                fail_input("loaded a weight that is not used");
                              });
                            }});
  std::vector<std::string> seen;
  InterpretOptions options;
  options.observe = [&](const Node& node, std::span<const RefTensor> outputs) {
    seen.emplace_back(node.op_name());
    EXPECT_EQ(outputs.size(), 1u);
  };
  interpret(graph, {floats(DType::f32, {2}, {0, 1})}, RefMode::ideal, options);
  EXPECT_EQ(seen, std::vector<std::string>{"exp"});
}

TEST(Interpreter, ReusesTheCompositionOfEqualNodes) {
  const auto outputs = run(R"(graph @g {
    %x: f32[2, 3] = input
    %a = softmax(%x) {dim = 1}
    %b = softmax(%x) {dim = 0}
    %c = softmax(%a) {dim = 1}
    return %a, %b, %c
  })",
                           {floats(DType::f32, {2, 3}, {0, 0, 0, 0, 0, std::log(2.0)})});
  EXPECT_NEAR(outputs[0].f[0], 1.0 / 3, 1e-15);
  EXPECT_NEAR(outputs[0].f[5], 0.5, 1e-15);
  EXPECT_NEAR(outputs[1].f[5], 2.0 / 3, 1e-15);
  EXPECT_NEAR(outputs[2].f[0], 1.0 / 3, 1e-15);
}

TEST(Interpreter, RefusesOtherInputs) {
  const std::string_view text = "graph @g(B = 2) { %x: f32[B] = input return %x }";
  EXPECT_ERROR(run(text, {}), "graph 'g' takes 1 input but got 0");
  EXPECT_ERROR(run(text, {floats(DType::f16, {2}, {0, 0})}),
               "input 'x' is f16[2] where the graph says f32[2]");
  EXPECT_ERROR(run(text, {floats(DType::f32, {1}, {0})}), "input 'x' is f32[1]");
}

TEST(Interpreter, RefusesAWeightOfAnotherType) {
  const Graph graph = parse_graph(
      "graph @g { %w: f32[2] = weight return %w }",
      {.weight = [](const std::string&, const Type&) { return make_splat(DType::f32, {3}, 0); }});
  EXPECT_NO_THROW(interpret(graph, {}, RefMode::ideal)) << "a splat has any shape";
  const Graph other = parse_graph(
      "graph @g { %w: f32[2] = weight return %w }", {.weight = [](const std::string&, const Type&) {
        return make_lazy_constant(
            [] { return std::make_shared<const Tensor>(DType::f32, std::vector<int64_t>{3}); });
      }});
  EXPECT_ERROR(interpret(other, {}, RefMode::ideal),
               "weight 'w' is f32[3] where the graph says f32[2]");
}

TEST(Interpreter, EvaluatesEmptyTensors) {
  const auto outputs = run(R"(graph @g(B = 0) {
    %x: f32[B, 4] = input
    %w: f32[3, 4] = weight
    %y = linear(%x, %w)
    %s = sum(%y) {dim = [0]}
    return %y, %s
  })",
                           {floats(DType::f32, {0, 4}, {})});
  EXPECT_EQ(outputs[0].numel(), 0);
  EXPECT_EQ(outputs[1].f, (std::vector<double>{0, 0, 0}));
}

TEST(RefTensors, ConvertExactlyAndBack) {
  for (const DTypeInfo& type : all_dtypes()) {
    Tensor tensor(type.dtype, {2, 3});
    for (int64_t k = 0; k < 6; ++k) tensor.set_int(k, k - (type.is_signed ? 3 : 0));
    if (type.dtype == DType::u64) tensor.set_int(0, -1);
    const Tensor back = to_tensor(to_ref(tensor));
    EXPECT_EQ(back.dtype(), tensor.dtype());
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(back.data(), tensor.data(), tensor.bytes()), 0) << type.name;
  }
}

TEST(RefTensors, RoundAndWrap) {
  EXPECT_EQ(to_tensor(floats(DType::f16, {1}, {1 + 0x1p-12})).get(0), 1);
  EXPECT_EQ(to_tensor(integers(DType::u8, {257})).get_int(0), 1);
  RefTensor truth = integers(DType::boolean, {0, 2, -1});
  normalize(truth, false);
  EXPECT_EQ(truth.i, (std::vector<int64_t>{0, 1, 1}));
}

}  // namespace
}  // namespace tcc::ir
