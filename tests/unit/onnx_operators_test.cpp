// Operators of ONNX with the values that their text gives, where no backend case shows them.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc::testing {
namespace {

using Numbers = std::vector<double>;
using Proto = pb::TensorProto;

Numbers numbers(const ir::RefTensor& x) {
  return x.is_float() ? x.f : Numbers(x.i.begin(), x.i.end());
}

Numbers computed(const OnnxModel& model, size_t output = 0) {
  return numbers(ir::interpret(model.import(), {}, ir::RefMode::stepwise).at(output));
}

pb::TensorProto matrix(int64_t rows, int64_t columns, const std::vector<int64_t>& values) {
  pb::TensorProto tensor = int_tensor(values);
  tensor.clear_dims();
  tensor.add_dims(rows);
  tensor.add_dims(columns);
  return tensor;
}

pb::TensorProto floats(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  pb::TensorProto tensor;
  tensor.set_data_type(Proto::FLOAT);
  for (int64_t dim : shape) tensor.add_dims(dim);
  for (float value : values) tensor.add_float_data(value);
  return tensor;
}

pb::TensorProto bools(const std::vector<int>& values) {
  pb::TensorProto tensor;
  tensor.set_data_type(Proto::BOOL);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (int value : values) tensor.add_int32_data(value);
  return tensor;
}

int count_of(const ir::Graph& graph, std::string_view op) {
  int count = 0;
  for (const auto& node : graph.nodes()) count += node->op->name == op;
  return count;
}

// Whole factors stay in integers; with others, the sum is cut off once, at its end.
TEST(OnnxOperators, GemmOfIntegersIsScaled) {
  const auto gemm = [](float alpha, float beta, bool with_c) {
    OnnxModel model(13);
    model.constant("a", matrix(2, 2, {1, 2, 3, 4})).constant("b", matrix(2, 1, {5, -7}));
    model.constant("c", matrix(2, 1, {3, -3}));
    OnnxNames inputs = {"a", "b"};
    if (with_c) inputs.emplace_back("c");
    return model.node("Gemm", inputs, {"y"}, {{"alpha", alpha}, {"beta", beta}}).output("y");
  };
  EXPECT_EQ(computed(gemm(1, 1, true)), (Numbers{-6, -16}));
  EXPECT_EQ(computed(gemm(2, -1, true)), (Numbers{-21, -23}));
  EXPECT_EQ(computed(gemm(0.5f, 0.5f, true)), (Numbers{-3, -8}));
  EXPECT_EQ(computed(gemm(0.5f, 7, false)), (Numbers{-4, -6}));
  EXPECT_EQ(output_type(gemm(0.5f, 7, false).import()), "i64[2, 1]");
  EXPECT_EQ(computed(gemm(1, 7, false)), (Numbers{-9, -13}));
}

TEST(OnnxOperators, ScatteredBoolsAreCombined) {
  const auto scattered = [](const char* op, const char* reduction) {
    OnnxModel model(18);
    model.constant("x", bools({0, 1, 0, 1})).constant("updates", bools({1, 0, 0, 1}));
    model.constant("at", std::string_view(op) == "ScatterND" ? matrix(4, 1, {0, 1, 2, 3})
                                                             : int_tensor({0, 1, 2, 3}));
    return computed(model.node(op, {"x", "at", "updates"}, {"y"}, {{"reduction", reduction}})
                        .output("y", Proto::BOOL));
  };
  for (const char* op : {"ScatterElements", "ScatterND"}) {
    EXPECT_EQ(scattered(op, "none"), (Numbers{1, 0, 0, 1})) << op;
    EXPECT_EQ(scattered(op, "add"), (Numbers{1, 1, 0, 1})) << op;
    EXPECT_EQ(scattered(op, "mul"), (Numbers{0, 0, 0, 1})) << op;
    EXPECT_EQ(scattered(op, "max"), (Numbers{1, 1, 0, 1})) << op;
    EXPECT_EQ(scattered(op, "min"), (Numbers{0, 0, 0, 1})) << op;
  }
}

// Classes of no weight are never drawn; all others are, in the end.
TEST(OnnxOperators, MultinomialTakesLogarithms) {
  OnnxModel model(22);
  model.constant("x", floats({2, 3}, {-INFINITY, 5, 5, 0, -INFINITY, -INFINITY}));
  model.node("Multinomial", {"x"}, {"y"}, {{"sample_size", 64}, {"seed", 3.0f}});
  const Numbers drawn = computed(model.output("y", Proto::INT32));
  ASSERT_EQ(drawn.size(), 128U);
  const std::set<double> first(drawn.begin(), drawn.begin() + 64);
  EXPECT_EQ(first, (std::set<double>{1, 2}));
  EXPECT_EQ(Numbers(drawn.begin() + 64, drawn.end()), Numbers(64, 0));
}

// in * scale = 4 * 0.6 = 2.4: the result has 2 elements, whose corners are those of x. From opset
// 19 on, the cases of ONNX step by (4 - 1) / (2.4 - 1).
TEST(OnnxOperators, ResizeAlignsTheCornersOfTheWholeLength) {
  const auto resized = [](int64_t opset) {
    OnnxModel model(opset);
    model.constant("x", floats({1, 4}, {0, 1, 2, 3})).constant("scales", floats({2}, {1, 0.6f}));
    model.node("Resize", {"x", "", "scales"}, {"y"},
               {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}});
    return computed(model.output("y"));
  };
  EXPECT_EQ(resized(11), (Numbers{0, 3}));
  EXPECT_EQ(resized(18), (Numbers{0, 3}));
  EXPECT_NEAR(resized(19).at(1), 3 / 1.4, 1e-6);
}

TEST(OnnxOperators, ExtremaOfNothingAreTheEndsOfTheRange) {
  const auto reduced = [](const char* op, int dtype) {
    OnnxModel model(20);
    model.input("x", {{2, 0}}, dtype).ints("axes", {1});
    model.node(op, {"x", "axes"}, {"y"}, {{"keepdims", 0}}).output("y", dtype);
    const ir::Graph graph = model.import();
    const ir::RefTensor x(graph.inputs.at(0)->dtype(), {2, 0});
    return numbers(ir::interpret(graph, {x}, ir::RefMode::stepwise).at(0));
  };
  EXPECT_EQ(reduced("ReduceMax", Proto::FLOAT), Numbers(2, -INFINITY));
  EXPECT_EQ(reduced("ReduceMin", Proto::FLOAT16), Numbers(2, INFINITY));
  EXPECT_EQ(reduced("ReduceMax", Proto::INT8), Numbers(2, -128));
  EXPECT_EQ(reduced("ReduceMin", Proto::INT32), Numbers(2, INT32_MAX));
  EXPECT_EQ(reduced("ReduceMin", Proto::UINT8), Numbers(2, 255));
  EXPECT_EQ(reduced("ReduceMax", Proto::UINT8), Numbers(2, 0));
  EXPECT_EQ(reduced("ReduceMin", Proto::BOOL), Numbers(2, 1));
  EXPECT_EQ(reduced("ReduceLogSumExp", Proto::FLOAT), Numbers(2, -INFINITY));
}

TEST(OnnxOperators, LpNormsAreOfAbsoluteValues) {
  OnnxModel pool(18), normal(22);
  pool.constant("x", floats({1, 1, 3}, {-1, 2, -2}));
  pool.node("LpPool", {"x"}, {"y"}, {{"kernel_shape", std::vector<int64_t>{2}}, {"p", 1}});
  EXPECT_EQ(computed(pool.output("y")), (Numbers{3, 4}));
  normal.constant("x", floats({2, 2}, {0, 0, 3, -4}));
  const Numbers y = computed(normal.node("LpNormalization", {"x"}, {"y"}).output("y"));
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
  EXPECT_NEAR(y[3], -0.8, 1e-7);
}

// ---- attention

struct AttentionCase {
  OnnxModel model{25};
  OnnxNames inputs = {"q", "k", "v"};
  OnnxAttributes attributes;
  explicit AttentionCase(int64_t query_heads = 2, int64_t shared = 2, int64_t keys = 3) {
    model.input("q", {{1, query_heads, 3, 4}});
    for (const char* name : {"k", "v"}) model.input(name, {{1, shared, keys, 4}});
  }
  ir::Graph graph(const OnnxNames& outputs = {"y"}) {
    model.node("Attention", inputs, outputs, attributes);
    for (const std::string& name : outputs)
      if (!name.empty()) model.output(name);
    return model.import();
  }
};

TEST(OnnxOperators, AttentionIsOneOp) {
  AttentionCase plain, causal(4, 2), masked, cached;
  EXPECT_EQ(count_of(plain.graph(), "scaled_dot_product_attention"), 1);
  causal.attributes = {{"is_causal", 1}};
  const ir::Graph graph = causal.graph();
  EXPECT_EQ(count_of(graph, "scaled_dot_product_attention"), 1);
  EXPECT_EQ(graph.nodes().size(), 1U);  // no mask to be read, no heads to be repeated
  masked.model.input("mask", {{3, 3}}, Proto::BOOL);
  masked.inputs = {"q", "k", "v", "mask"};
  EXPECT_EQ(count_of(masked.graph(), "scaled_dot_product_attention"), 1);
  for (const char* name : {"pk", "pv"}) cached.model.input(name, {{1, 2, "past", 4}});
  cached.inputs = {"q", "k", "v", "", "pk", "pv"};
  cached.attributes = {{"is_causal", 1}};
  const ir::Graph with_past = cached.graph({"y", "nk", "nv"});
  EXPECT_EQ(count_of(with_past, "scaled_dot_product_attention"), 1);
  EXPECT_EQ(ir::to_string(with_past.outputs.at(1)->type), "f32[1, 2, past+3, 4]");
}

TEST(OnnxOperators, AttentionThatShowsItsScoresIsComposed) {
  for (const char* attribute : {"softcap", "scores"}) {
    AttentionCase c(4, 2);
    const bool scores = std::string_view(attribute) == "scores";
    if (!scores) c.attributes = {{"softcap", 2.0f}};
    const ir::Graph graph = c.graph(scores ? OnnxNames{"y", "", "", "s"} : OnnxNames{"y"});
    EXPECT_EQ(count_of(graph, "scaled_dot_product_attention"), 0);
    ASSERT_EQ(graph.outputs.size(), scores ? 2U : 1U);
    const char* last = scores ? "f32[1, 4, 3, 3]" : "f32[1, 4, 3, 4]";
    EXPECT_EQ(ir::to_string(graph.outputs.back()->type), last);
  }
}

// A query that sees no key gives 0; NaN in what it computes with stays NaN.
TEST(OnnxOperators, AttentionToNothingIsZero) {
  OnnxModel model(23);
  model.constant("q", floats({1, 1, 2, 1}, {1, NAN})).constant("k", floats({1, 1, 2, 1}, {1, 2}));
  pb::TensorProto mask = bools({0, 0, 1, 1});
  mask.clear_dims();
  mask.add_dims(2);
  mask.add_dims(2);
  model.constant("mask", mask).node("Attention", {"q", "k", "k", "mask"}, {"y"}).output("y");
  const Numbers y = computed(model);
  EXPECT_EQ(y.at(0), 0);
  EXPECT_TRUE(std::isnan(y.at(1)));
}

TEST(OnnxOperators, AttentionRefusesWhatContradictsItself) {
  const auto refuse = [](AttentionCase c, const char* words) { EXPECT_ERROR(c.graph(), words); };
  refuse(AttentionCase(3, 2), "3 query heads are no multiple of 2 key heads");
  AttentionCase scale, window, half;
  scale.attributes = {{"scale", 0.0f}};
  refuse(scale, "a scale of 0 is not supported");
  window.attributes = {{"left_window_size", -2}};
  refuse(window, "a window size must be -1 or more");
  half.model.input("p", {{1, 2, 1, 4}});
  half.inputs = {"q", "k", "v", "", "p"};
  refuse(half, "past_key and past_value must both be there");
}

// ---- states

TEST(OnnxOperators, LinearAttentionOfNoTokensKeepsItsState) {
  OnnxModel model(27);
  for (const char* name : {"q", "k", "v"}) model.constant(name, floats({1, 0, 2}, {}));
  model.constant("s", floats({1, 1, 2, 2}, {1, 2, 3, 4}));
  model.node("LinearAttention", {"q", "k", "v", "s"}, {"y", "t"},
             {{"q_num_heads", 1}, {"kv_num_heads", 1}, {"update_rule", "linear"}});
  model.output("y").output("t");
  EXPECT_EQ(computed(model, 0), Numbers{});
  EXPECT_EQ(computed(model, 1), (Numbers{1, 2, 3, 4}));
}

TEST(OnnxOperators, TensorScatterOfNothingIsTheCache) {
  OnnxModel model(24);
  model.constant("c", floats({1, 2, 1}, {1, 2})).constant("u", floats({1, 0, 1}, {}));
  EXPECT_EQ(computed(model.node("TensorScatter", {"c", "u"}, {"y"}).output("y")), (Numbers{1, 2}));
}

TEST(OnnxOperators, CausalConvolutionOfOneTapHasAnEmptyState) {
  OnnxModel model(27);
  model.constant("x", floats({1, 2, 2}, {1, 2, 3, 4})).constant("w", floats({2, 1, 1}, {2, -1}));
  model.node("CausalConvWithState", {"x", "w"}, {"y", "s"}).output("y").output("s");
  EXPECT_EQ(computed(model, 0), (Numbers{2, 4, -3, -4}));
  EXPECT_EQ(computed(model, 1), Numbers{});
}

}  // namespace
}  // namespace tcc::testing
