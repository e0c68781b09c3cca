// Elements of fewer than 8 bits: read, converted, quantized, moved, and refused elsewhere.
#include <cmath>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc::testing {
namespace {

// Values of TensorProto.DataType that old versions of onnx.proto lack.
constexpr int kE4M3Fnuz = 18, kE5M2Fnuz = 20, kUint4 = 21, kInt4 = 22, kFloat4 = 23, kE8M0 = 24,
              kUint2 = 25, kInt2 = 26, kFloat6E2M3 = 27, kFloat6E3M2 = 28;

pb::TensorProto raw(int dtype, const std::vector<int64_t>& shape, const std::string& bytes) {
  pb::TensorProto tensor;
  tensor.set_data_type(dtype);
  for (int64_t dim : shape) tensor.add_dims(dim);
  tensor.set_raw_data(bytes);
  return tensor;
}

pb::TensorProto typed(int dtype, const std::vector<int64_t>& shape,
                      const std::vector<int>& values) {
  pb::TensorProto tensor;
  tensor.set_data_type(dtype);
  for (int64_t dim : shape) tensor.add_dims(dim);
  for (int value : values) tensor.add_int32_data(value);
  return tensor;
}

std::vector<double> numbers(const ir::RefTensor& x) {
  return x.is_float() ? x.f : std::vector<double>(x.i.begin(), x.i.end());
}

std::vector<double> computed(const OnnxModel& model) {
  return numbers(ir::interpret(model.import(), {}, ir::RefMode::stepwise).at(0));
}

std::vector<double> read(const pb::TensorProto& tensor) {
  return computed(OnnxModel(28)
                      .constant("w", tensor)
                      .node("Cast", {"w"}, {"y"}, {{"to", pb::TensorProto::FLOAT}})
                      .output("y"));
}

pb::TensorProto floats(const std::vector<float>& values) {
  pb::TensorProto tensor;
  tensor.set_data_type(pb::TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (float value : values) tensor.add_float_data(value);
  return tensor;
}

using Numbers = std::vector<double>;

TEST(OnnxNarrowTypes, PackedElementsAreRead) {
  EXPECT_EQ(read(raw(kUint4, {3}, "\xf1\x08")), (Numbers{1, 15, 8}));
  EXPECT_EQ(read(raw(kInt4, {3}, "\xf7\x08")), (Numbers{7, -1, -8}));
  EXPECT_EQ(read(raw(kUint2, {5}, "\xe4\x02")), (Numbers{0, 1, 2, 3, 2}));
  EXPECT_EQ(read(raw(kInt2, {4}, "\xe4")), (Numbers{0, 1, -2, -1}));
  EXPECT_EQ(read(raw(kInt4, {0, 3}, "")), Numbers{});
  // Two or four elements in each entry of the typed field.
  EXPECT_EQ(read(typed(kInt4, {3}, {0xf7, 0x08})), (Numbers{7, -1, -8}));
  EXPECT_EQ(read(typed(kUint2, {5}, {0xe4, 0x02})), (Numbers{0, 1, 2, 3, 2}));
}

TEST(OnnxNarrowTypes, FloatsAreExact) {
  EXPECT_EQ(read(raw(kFloat4, {16}, "\x10\x32\x54\x76\x98\xba\xdc\xfe")),
            (Numbers{0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6}));
  // One element in each entry; four in three bytes of raw data.
  const std::vector<int> codes = {0x01, 0x08, 0x1f, 0x2c};
  const std::string packed = "\x01\xf2\xb1";
  EXPECT_EQ(read(typed(kFloat6E2M3, {4}, codes)), (Numbers{0.125, 1, 7.5, -1.5}));
  EXPECT_EQ(read(raw(kFloat6E2M3, {4}, packed)), (Numbers{0.125, 1, 7.5, -1.5}));
  EXPECT_EQ(read(typed(kFloat6E3M2, {4}, codes)), (Numbers{0.0625, 0.5, 28, -1}));
  EXPECT_EQ(read(raw(kFloat6E3M2, {4}, packed)), (Numbers{0.0625, 0.5, 28, -1}));
  const Numbers powers = read(raw(kE8M0, {4}, std::string("\x00\x7f\xfe\xff", 4)));
  EXPECT_EQ(powers[0], 0x1p-127);
  EXPECT_EQ(powers[1], 1);
  EXPECT_EQ(powers[2], 0x1p127);
  EXPECT_TRUE(std::isnan(powers[3]));
}

TEST(OnnxNarrowTypes, DataMustFit) {
  const auto import = [](const pb::TensorProto& tensor) {
    return OnnxModel(28).constant("w", tensor).output("w").import();
  };
  EXPECT_ERROR(import(raw(kInt4, {3}, "1")), "needs 2 bytes of data, but 1 are there");
  EXPECT_ERROR(import(raw(kInt2, {4}, "12")), "needs 1 bytes of data, but 2 are there");
  EXPECT_ERROR(import(typed(kInt4, {3}, {1, 2, 3})), "needs 2 bytes of data, but 3 are there");
  EXPECT_ERROR(import(raw(kFloat6E2M3, {5}, "123")), "needs 4 bytes of data, but 3 are there");
}

// Floats lose their fraction, integers their high bits.
TEST(OnnxNarrowTypes, CastsToIntegersWrap) {
  const auto cast = [](const pb::TensorProto& x, int to) {
    return computed(
        OnnxModel(28).constant("x", x).node("Cast", {"x"}, {"y"}, {{"to", to}}).output("y", to));
  };
  const pb::TensorProto x = int_tensor({0, 7, 8, -1, -9, 200});
  EXPECT_EQ(cast(x, kInt4), (Numbers{0, 7, -8, -1, 7, -8}));
  EXPECT_EQ(cast(x, kUint4), (Numbers{0, 7, 8, 15, 7, 8}));
  EXPECT_EQ(cast(x, kInt2), (Numbers{0, -1, 0, -1, -1, 0}));
  EXPECT_EQ(cast(x, kUint2), (Numbers{0, 3, 0, 3, 3, 0}));
  EXPECT_EQ(cast(floats({3.9f, -3.9f}), kInt4), (Numbers{3, -3}));
  EXPECT_EQ(cast(raw(kInt4, {2}, "\xf7"), kUint4), (Numbers{7, 15}));
}

// To nearest, ties to even; the largest number for what is beyond.
TEST(OnnxNarrowTypes, CastsToFloatsRoundAndSaturate) {
  const auto cast = [](const std::vector<float>& x, int to) {
    OnnxModel model(28);
    model.constant("x", floats(x)).node("Cast", {"x"}, {"q"}, {{"to", to}});
    model.node("Cast", {"q"}, {"y"}, {{"to", pb::TensorProto::FLOAT}}).output("y");
    return computed(model);
  };
  EXPECT_EQ(cast({0.25f, 0.2501f, 0.75f, 1.25f, 2.5f, 3.5f, 5, 5.1f, 1e9f, -INFINITY}, kFloat4),
            (Numbers{0, 0.5, 1, 1, 2, 4, 4, 6, 6, -6}));
  EXPECT_EQ(cast({0.0625f, 0.1f, 2.125f, 2.375f, 7.4f, -100}, kFloat6E2M3),
            (Numbers{0, 0.125, 2, 2.5, 7.5, -7.5}));
  EXPECT_EQ(cast({0.03125f, 0.04f, 0.3f, 27, 100}, kFloat6E3M2),
            (Numbers{0, 0.0625, 0.3125, 28, 28}));
  EXPECT_TRUE(std::signbit(cast({-0.0f}, kFloat4)[0]));
  EXPECT_EQ(cast({NAN}, kFloat4), Numbers{0});
}

// One NaN, in the place of -0, and no infinities.
TEST(OnnxNarrowTypes, FnuzFloatsAreRead) {
  const Numbers wide = read(raw(kE4M3Fnuz, {4}, std::string("\x7f\xff\x01\x80", 4)));
  EXPECT_EQ(Numbers(wide.begin(), wide.begin() + 3), (Numbers{240, -240, 0x1p-10}));
  EXPECT_TRUE(std::isnan(wide[3]));
  const Numbers long_range = read(raw(kE5M2Fnuz, {3}, "\x7f\x01\x40"));
  EXPECT_EQ(long_range, (Numbers{57344, 0x1p-17, 1}));
}

TEST(OnnxNarrowTypes, CastsToFnuzFloats) {
  const auto cast = [](const std::vector<float>& x, int to, int saturate) {
    OnnxModel model(28);
    model.constant("x", floats(x));
    model.node("Cast", {"x"}, {"y"}, {{"to", to}, {"saturate", saturate}});
    return computed(model.output("y", to));
  };
  EXPECT_EQ(cast({0.1f, 232, 233, 249, INFINITY, -1e9f}, kE4M3Fnuz, 1),
            (Numbers{0.1015625, 224, 240, 240, 240, -240}));
  EXPECT_EQ(cast({0x1p-18f, 0x1.8p-17f, 1.125f, 1e9f}, kE5M2Fnuz, 1),
            (Numbers{0, 0x1p-16, 1, 57344}));
  EXPECT_EQ(cast({247.9f}, kE4M3Fnuz, 0), Numbers{240});
  for (const float beyond : {249.0f, INFINITY, -INFINITY, NAN})
    EXPECT_TRUE(std::isnan(cast({beyond}, kE4M3Fnuz, 0)[0])) << beyond;
  EXPECT_FALSE(std::signbit(cast({-0.0f}, kE4M3Fnuz, 1)[0]));
}

TEST(OnnxNarrowTypes, CastsToPowersOfTwo) {
  const auto cast = [](const std::vector<float>& x, const char* mode, int saturate) {
    OnnxModel model(28);
    model.constant("x", floats(x));
    model.node("Cast", {"x"}, {"y"}, {{"to", kE8M0}, {"round_mode", mode}, {"saturate", saturate}});
    return computed(model.output("y", kE8M0));
  };
  const std::vector<float> x = {1, 1.25f, 1.5f, 3, -3, 1e-45f, 3.3e38f, INFINITY};
  EXPECT_EQ(cast(x, "up", 1), (Numbers{1, 2, 2, 4, 4, 0x1p-126, 0x1p127, 0x1p127}));
  EXPECT_EQ(cast(x, "down", 1), (Numbers{1, 1, 1, 2, 2, 0x1p-127, 0x1p127, 0x1p127}));
  EXPECT_EQ(cast(x, "nearest", 1), (Numbers{1, 1, 2, 4, 4, 0x1p-127, 0x1p127, 0x1p127}));
  const Numbers beyond = cast({1, 1e-45f, 3.3e38f, INFINITY, NAN}, "nearest", 0);
  EXPECT_EQ(beyond[0], 1);
  for (size_t k = 1; k < beyond.size(); ++k) EXPECT_TRUE(std::isnan(beyond[k])) << k;
  EXPECT_TRUE(std::isnan(cast({NAN}, "up", 1)[0]));
}

TEST(OnnxNarrowTypes, WeightsAreDequantized) {
  OnnxModel model(28);
  model.constant("w", raw(kInt4, {2, 4}, "\x10\x32\xfe\x98"));
  model.constant("scale", floats({0.5f, 2}));
  model.node("Transpose", {"w"}, {"t"}, {{"perm", std::vector<int64_t>{1, 0}}});
  model.node("DequantizeLinear", {"t", "scale"}, {"y"}, {{"axis", 1}}).output("y");
  EXPECT_EQ(computed(model), (Numbers{0, -4, 0.5, -2, 1, -16, 1.5, -14}));
}

// The microscaling formats: values of 4 bits with a power of two for each block.
TEST(OnnxNarrowTypes, BlocksHavePowersOfTwo) {
  OnnxModel model(28);
  model.constant("w", raw(kFloat4, {4}, "\x21\x72")).constant("scale", raw(kE8M0, {2}, "\x80\x7e"));
  model.node("DequantizeLinear", {"w", "scale"}, {"y"},
             {{"axis", 0}, {"block_size", 2}, {"output_dtype", pb::TensorProto::FLOAT16}});
  model.output("y", pb::TensorProto::FLOAT16);
  EXPECT_EQ(computed(model), (Numbers{1, 2, 0.5, 3}));
}

TEST(OnnxNarrowTypes, QuantizationSaturates) {
  const auto quantized = [](int dtype, bool by_zero_point) {
    OnnxModel model(28);
    model.constant("x", floats({-100, -1.5f, 0.5f, 2.5f, 100}))
        .constant("scale", float_tensor({}, 1));
    model.constant("zero", raw(dtype, {}, "\x01"));
    if (by_zero_point)
      model.node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
    else
      model.node("QuantizeLinear", {"x", "scale"}, {"y"}, {{"output_dtype", dtype}});
    return computed(model.output("y", dtype));
  };
  EXPECT_EQ(quantized(kInt4, false), (Numbers{-8, -2, 0, 2, 7}));
  EXPECT_EQ(quantized(kInt4, true), (Numbers{-8, -1, 1, 3, 7}));
  EXPECT_EQ(quantized(kUint4, true), (Numbers{0, 0, 1, 3, 15}));
  EXPECT_EQ(quantized(kInt2, false), (Numbers{-2, -2, 0, 1, 1}));
  EXPECT_EQ(quantized(kUint2, true), (Numbers{0, 0, 1, 3, 3}));
  EXPECT_EQ(quantized(kFloat4, false), (Numbers{-6, -1.5, 0.5, 2, 6}));
}

TEST(OnnxNarrowTypes, OtherOperatorsRefuseThem) {
  OnnxModel model(28);
  model.constant("w", raw(kInt4, {2}, "\x21")).node("Add", {"w", "w"}, {"y"}).output("y");
  EXPECT_ERROR(
      model.import(),
      "m.onnx: node 0 (Add): 'w' has elements of INT4, which only operators take that move "
      "or convert them");
  OnnxModel like(28);
  like.input("x", {{2, 2}}).node("EyeLike", {"x"}, {"y"}, {{"dtype", kInt4}}).output("y");
  EXPECT_ERROR(like.import(), "INT4");
}

TEST(OnnxNarrowTypes, InputsAndOutputsAreWider) {
  OnnxModel model(28);
  model.input("x", {{3}}, kUint2).node("Identity", {"x"}, {"y"}).output("y", kUint2);
  const ir::Graph graph = model.import();
  EXPECT_EQ(graph.inputs.at(0)->dtype(), DType::u8);
  EXPECT_EQ(graph.inputs.at(0)->random_range, (std::pair<int64_t, int64_t>{0, 4}));
  model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(kUint4);
  EXPECT_ERROR(model.import(), "m.onnx: output 'y' is declared as UINT4, but is UINT2");
}

}  // namespace
}  // namespace tcc::testing
