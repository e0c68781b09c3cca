// ONNX Runtime's operators on quantised integers, and those it fuses; the numbers are its own.
#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/graph.h"
#include "ir/reference/interpreter.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc::testing {
namespace {

using Proto = pb::TensorProto;
using Numbers = std::vector<double>;

pb::TensorProto typed(int dtype, const std::vector<int64_t>& shape, const Numbers& values) {
  pb::TensorProto tensor;
  tensor.set_data_type(dtype);
  for (const int64_t dim : shape) tensor.add_dims(dim);
  for (const double value : values) {
    if (dtype == Proto::FLOAT)
      tensor.add_float_data(static_cast<float>(value));
    else
      tensor.add_int32_data(static_cast<int32_t>(value));
  }
  return tensor;
}
pb::TensorProto u8(const std::vector<int64_t>& shape, const Numbers& values) {
  return typed(Proto::UINT8, shape, values);
}
pb::TensorProto i8(const std::vector<int64_t>& shape, const Numbers& values) {
  return typed(Proto::INT8, shape, values);
}
pb::TensorProto f32(const std::vector<int64_t>& shape, const Numbers& values) {
  return typed(Proto::FLOAT, shape, values);
}
pb::TensorProto scale(double value) { return f32({}, {value}); }
pb::TensorProto zero(double value) { return u8({}, {value}); }

// Imports a node of ONNX Runtime; an operand of no type is omitted.
std::vector<ir::RefTensor> results(std::string_view op,
                                   const std::vector<pb::TensorProto>& operands,
                                   const OnnxAttributes& attributes = {}, int count = 1) {
  OnnxModel model;
  OnnxNames inputs, outputs;
  for (const pb::TensorProto& operand : operands) {
    const bool is_there = operand.data_type() != Proto::UNDEFINED;
    inputs.push_back(is_there ? "x" + std::to_string(inputs.size()) : "");
    if (is_there) model.constant(inputs.back(), operand);
  }
  for (int k = 0; k < count; ++k) outputs.push_back("y" + std::to_string(k));
  add_node(model.graph(), op, inputs, outputs, attributes).set_domain("com.microsoft");
  for (const std::string& name : outputs) model.output(name);
  return ir::interpret(model.import(), {}, ir::RefMode::stepwise);
}

Numbers run(std::string_view op, const std::vector<pb::TensorProto>& operands,
            const OnnxAttributes& attributes = {}) {
  const ir::RefTensor out = results(op, operands, attributes)[0];
  return out.is_float() ? out.f : Numbers(out.i.begin(), out.i.end());
}

const pb::TensorProto kA = u8({4}, {0, 100, 130, 255}), kB = u8({4}, {10, 20, 200, 250});

TEST(OnnxQLinear, OfTwoOperands) {
  const auto binary = [](std::string_view op, double out) {
    return run(op, {kA, scale(0.5), zero(128), kB, scale(0.25), zero(10), scale(out), zero(50)});
  };
  EXPECT_EQ(binary("QLinearAdd", 1), (Numbers{0, 38, 98, 174}));
  EXPECT_EQ(binary("QLinearMul", 20), (Numbers{50, 48, 52, 240}));
}

TEST(OnnxQLinear, ZeroPointsMayBeOmitted) {
  EXPECT_EQ(run("QLinearAdd", {kA, scale(0.5), {}, kB, scale(0.25), {}, scale(1)}),
            (Numbers{2, 55, 115, 190}));
}

TEST(OnnxQLinear, Activations) {
  const auto unary = [](std::string_view op, const pb::TensorProto& x, double in, double out,
                        double zero_out, const OnnxAttributes& attributes = {}) {
    return run(op, {x, scale(in), zero(128), scale(out), zero(zero_out)}, attributes);
  };
  EXPECT_EQ(unary("QLinearSigmoid", kA, 0.0625, 1.0 / 256, 0), (Numbers{0, 38, 136, 255}));
  EXPECT_EQ(unary("QLinearLeakyRelu", kA, 0.5, 0.25, 100, {{"alpha", 0.25f}}),
            (Numbers{36, 86, 104, 255}));
  const Numbers values = {0, 100, 130, 255};
  EXPECT_EQ(unary("QLinearSoftmax", u8({2, 2}, values), 0.0625, 1.0 / 256, 0,
                  {{"axis", 1}, {"opset", 13}}),
            (Numbers{0, 255, 0, 255}));
  // Before opset 13, all dims from the axis on were one.
  EXPECT_EQ(unary("QLinearSoftmax", u8({1, 2, 2}, values), 0.0625, 1.0 / 256, 0,
                  {{"axis", 1}, {"opset", 11}}),
            (Numbers{0, 0, 0, 255}));
}

TEST(OnnxQLinear, ConcatAndWhere) {
  EXPECT_EQ(run("QLinearConcat",
                {scale(0.5), zero(10), u8({2}, {3, 100}), scale(1), zero(0), u8({2}, {20, 40}),
                 scale(0.25), zero(20)},
                {{"axis", 0}}),
            (Numbers{16, 210, 10, 20}));
  EXPECT_ERROR(run("QLinearConcat", {scale(1), zero(0), u8({1}, {1}), scale(1)}, {{"axis", 0}}),
               "takes a scale, a zero point, and three operands of each part");
  EXPECT_EQ(
      run("QLinearWhere", {typed(Proto::BOOL, {2}, {1, 0}), u8({2}, {3, 100}), scale(1), zero(0),
                           u8({2}, {20, 40}), scale(0.25), zero(20), scale(0.5), zero(10)}),
      (Numbers{16, 20}));
}

TEST(OnnxQLinear, Pools) {
  const auto global = [](const std::vector<int64_t>& shape, int last) {
    return run(
        "QLinearGlobalAveragePool",
        {u8(shape, {0, 100, 130, 255, 1, 2, 3, 4}), scale(0.5), zero(128), scale(0.25), zero(100)},
        {{"channels_last", last}});
  };
  EXPECT_EQ(global({1, 2, 2, 2}, 0), (Numbers{86, 0}));
  EXPECT_EQ(global({1, 2, 2, 2}, 1), (Numbers{0, 24}));
  EXPECT_EQ(run("QLinearAveragePool",
                {u8({1, 1, 3, 3}, {0, 100, 130, 255, 1, 2, 3, 4, 9}), scale(0.5), zero(128),
                 scale(0.5), zero(128)},
                {{"kernel_shape", std::vector<int64_t>{2, 2}}}),
            (Numbers{89, 58, 66, 4}));
}

TEST(OnnxQLinear, Products) {
  const pb::TensorProto a = u8({2, 2}, {1, 2, 3, 4}), b = i8({2, 2}, {1, -2, 3, 4});
  const pb::TensorProto c = typed(Proto::INT32, {2}, {10, 20});
  EXPECT_EQ(run("QGemm",
                {a, scale(0.5), zero(1), b, f32({2}, {0.25, 0.5}), i8({2}, {0, 0}), c, scale(0.5),
                 zero(100)},
                {{"transB", 1}}),
            (Numbers{102, 112, 102, 119}));
  EXPECT_EQ(
      run("QGemm", {a, scale(0.5), zero(1), b, scale(0.25), i8({}, {0}), c}, {{"alpha", 2.0f}}),
      (Numbers{3.25, 6, 5.25, 7}));
  const pb::TensorProto bias = f32({2}, {0.5, 1});
  EXPECT_EQ(
      run("MatMulIntegerToFloat", {a, b, scale(0.5), scale(0.25), zero(1), i8({}, {1}), bias}),
      (Numbers{0.75, 1.375, 1.25, 1.375}));
  EXPECT_EQ(run("DynamicQuantizeMatMul",
                {f32({2, 2}, {0, 255, 51, 102}), b, scale(0.25), i8({}, {0}), bias}),
            (Numbers{191.75, 256, 89.75, 77.5}));
}

// Its projection is one of integers; with weights of 0, the values are the bias.
TEST(OnnxQLinear, Attention) {
  const Numbers bias = {0, 0, 0, 0, 1, 2};
  EXPECT_EQ(run("QAttention",
                {u8({1, 3, 2}, {1, 2, 3, 4, 5, 6}),
                 i8({2, 6}, Numbers(12, 0)),
                 f32({6}, bias),
                 scale(0.5),
                 scale(0.25),
                 {},
                 zero(3),
                 i8({}, {0})},
                {{"num_heads", 1}}),
            (Numbers{1, 2, 1, 2, 1, 2}));
}

TEST(OnnxQLinear, OfATensorOfRankOne) {
  OnnxModel model;
  model.constant("x", u8({3}, {1, 2, 3})).constant("s", f32({1}, {0.5}));
  model.constant("z", u8({1}, {1})).node("DequantizeLinear", {"x", "s", "z"}, {"f"});
  model.node("QuantizeLinear", {"f", "s", "z"}, {"q"}).output("f").output("q");
  const auto out = ir::interpret(model.import(), {}, ir::RefMode::stepwise);
  EXPECT_EQ(out[0].f, (Numbers{0, 0.5, 1}));
  EXPECT_EQ(out[1].i, (std::vector<int64_t>{1, 2, 3}));
}

// ---- fused

TEST(OnnxFused, ConvolutionsAddAndActivate) {
  const pb::TensorProto x = f32({1, 1, 1, 4}, {-4, -1, 1, 4}), w = f32({1, 1, 1, 1}, {1}),
                        bias = f32({1}, {1}), sum = f32({1, 1, 1, 4}, {1, 1, 1, 1});
  const auto conv = [&](const char* activation, const std::vector<float>& parameters) {
    OnnxAttribute list("activation_params", int64_t{0});
    list.proto.clear_i();
    for (const float value : parameters) list.proto.add_floats(value);
    return run("FusedConv", {x, w, bias, sum}, {{"activation", activation}, list});
  };
  EXPECT_EQ(conv("Relu", {}), (Numbers{0, 1, 3, 6}));
  EXPECT_EQ(conv("LeakyRelu", {0.5f}), (Numbers{-1, 1, 3, 6}));
  EXPECT_EQ(conv("Clip", {-1, 4}), (Numbers{-1, 1, 3, 4}));
  EXPECT_EQ(conv("HardSigmoid", {0.25f, 0.5f}), (Numbers{0, 0.75, 1, 1}));
  EXPECT_ERROR(conv("Swoosh", {}), "activation 'Swoosh' is not supported");
  EXPECT_EQ(run("FusedGemm", {f32({1, 2}, {1, -2}), f32({2, 2}, {1, 0, 0, 1}), f32({2}, {1, 1})},
                {{"activation", "LeakyRelu"}, {"activation_alpha", 0.5f}}),
            (Numbers{2, -0.5}));
}

TEST(OnnxFused, EmbeddingsAreNormalised) {
  const pb::TensorProto table = f32({2, 2}, {0, 0, 1, 3}),
                        ids = typed(Proto::INT32, {1, 2}, {1, 0});
  const auto out = results("EmbedLayerNormalization",
                           {ids, ids, table, table, table, f32({2}, {1, 2}), f32({2}, {0, 1}),
                            typed(Proto::INT32, {1, 2}, {1, 0})},
                           {{"epsilon", 1e-12f}}, 2);
  ASSERT_EQ(out[0].f.size(), 4U);
  const Numbers expected = {-1, 3, -1, 3};
  for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(out[0].f[k], expected[k], 1e-5);
  EXPECT_EQ(out[1].i, std::vector<int64_t>{1});
}

// ---- DynamicQuantizeLSTM

// 8 bits hold these weights exactly, so that it is an LSTM but for the rounding of x and h.
TEST(OnnxFused, AQuantisedLstmIsNearTheLstm) {
  const std::vector<int64_t> w_shape = {1, 2, 8}, r_shape = {1, 2, 8};
  Numbers weights;
  for (int k = 0; k < 16; ++k) weights.push_back((k * 7 + 3) % 11 - 5);
  const pb::TensorProto x = f32({3, 1, 2}, {1, -1, 0.5, 2, -2, 0.25});
  const auto quantized = results("DynamicQuantizeLSTM",
                                 {x,
                                  i8(w_shape, weights),
                                  i8(r_shape, weights),
                                  {},
                                  {},
                                  {},
                                  {},
                                  {},
                                  f32({1}, {0.125}),
                                  i8({1}, {0}),
                                  f32({1}, {0.125}),
                                  i8({1}, {0})},
                                 {{"hidden_size", 2}}, 3);
  Numbers transposed(16);
  for (size_t row = 0; row < 8; ++row)
    for (size_t k = 0; k < 2; ++k) transposed[row * 2 + k] = weights[k * 8 + row] / 8;
  OnnxModel model;
  model.constant("x", x).constant("w", f32({1, 8, 2}, transposed));
  model.node("LSTM", {"x", "w", "w"}, {"y", "h", "c"}, {{"hidden_size", 2}});
  model.output("y").output("h").output("c");
  const auto plain = ir::interpret(model.import(), {}, ir::RefMode::stepwise);
  for (size_t k = 0; k < 3; ++k)
    for (size_t i = 0; i < plain[k].f.size(); ++i)
      EXPECT_NEAR(quantized[k].f[i], plain[k].f[i], 0.02) << k << " " << i;
}

}  // namespace
}  // namespace tcc::testing
