// ONNX tensors: data in every field, external data, and what does not fit.
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/graph.h"
#include "ir/reference/interpreter.h"
#include "ir/scalar.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"
#include "tests/unit/tensor_file_fixture.h"

namespace tcc::testing {
namespace {

using Proto = pb::TensorProto;

Tensor imported(const pb::TensorProto& tensor, const std::filesystem::path& path = "m.onnx") {
  OnnxModel model;
  model.constant("w", tensor).output("w");
  const ir::Graph graph = model.import({}, path);
  return *graph.outputs.at(0)->data->load();
}

pb::TensorProto empty_tensor(int dtype, const std::vector<int64_t>& shape) {
  pb::TensorProto tensor;
  tensor.set_data_type(dtype);
  for (int64_t dim : shape) tensor.add_dims(dim);
  return tensor;
}

TEST(OnnxTensors, TypedIntegersOfEveryType) {
  struct Row {
    int dtype;
    DType expected;
    std::vector<int64_t> values;
  };
  for (const auto& [dtype, expected, values] :
       {Row{Proto::INT8, DType::i8, {-128, 127}}, Row{Proto::UINT8, DType::u8, {0, 255}},
        Row{Proto::INT16, DType::i16, {-32768, 32767}}, Row{Proto::UINT16, DType::u16, {0, 65535}},
        Row{Proto::INT32, DType::i32, {INT32_MIN, INT32_MAX}},
        Row{Proto::BOOL, DType::boolean, {0, 1}}}) {
    pb::TensorProto tensor = empty_tensor(dtype, {2});
    for (int64_t value : values) tensor.add_int32_data(static_cast<int32_t>(value));
    const Tensor read = imported(tensor);
    ASSERT_EQ(read.dtype(), expected);
    EXPECT_EQ(read.get_int(0), values[0]) << name(expected);
    EXPECT_EQ(read.get_int(1), values[1]) << name(expected);
  }
}

TEST(OnnxTensors, TypedNumbersOfTheOtherFields) {
  pb::TensorProto wide = empty_tensor(Proto::INT64, {1});
  wide.add_int64_data(INT64_MIN);
  EXPECT_EQ(imported(wide).get_int(0), INT64_MIN);
  pb::TensorProto u32 = empty_tensor(Proto::UINT32, {1}), u64 = empty_tensor(Proto::UINT64, {1});
  u32.add_uint64_data(UINT32_MAX);
  u64.add_uint64_data(UINT64_MAX);
  EXPECT_EQ(imported(u32).as<uint32_t>()[0], UINT32_MAX);
  EXPECT_EQ(imported(u64).as<uint64_t>()[0], UINT64_MAX);
  pb::TensorProto f32 = empty_tensor(Proto::FLOAT, {1}), f64 = empty_tensor(Proto::DOUBLE, {1});
  f32.add_float_data(0.5f);
  f64.add_double_data(0.1);
  EXPECT_EQ(imported(f32).as<float>()[0], 0.5f);
  EXPECT_EQ(imported(f64).as<double>()[0], 0.1);
  // 16-bit floats are bits in the field of integers.
  pb::TensorProto f16 = empty_tensor(Proto::FLOAT16, {1}),
                  bf16 = empty_tensor(Proto::BFLOAT16, {1});
  f16.add_int32_data(0x3e00);
  bf16.add_int32_data(0x3fc0);
  EXPECT_EQ(imported(f16).get(0), 1.5);
  EXPECT_EQ(imported(bf16).get(0), 1.5);
}

TEST(OnnxTensors, EightBitFloatsAreBits) {
  constexpr int e4m3 = 17, e5m2 = 19;
  pb::TensorProto typed = empty_tensor(e4m3, {2}), raw = empty_tensor(e5m2, {2});
  typed.add_int32_data(0x7e);
  typed.add_int32_data(0xc4);
  raw.set_raw_data("\x3e\xfb");
  EXPECT_EQ(imported(typed).dtype(), DType::f8e4m3);
  EXPECT_EQ(imported(typed).get(0), 448);
  EXPECT_EQ(imported(typed).get(1), -3);
  EXPECT_EQ(imported(raw).dtype(), DType::f8e5m2);
  EXPECT_EQ(imported(raw).get(0), 1.5);
  EXPECT_EQ(imported(raw).get(1), -57344);
}

TEST(OnnxTensors, CastsToEightBitFloatsSaturate) {
  const auto cast = [](const OnnxAttributes& attributes) {
    OnnxModel model(19);
    model.constant("x", float_tensor({1}, 1000)).node("Cast", {"x"}, {"y"}, attributes).output("y");
    return ir::interpret(model.import(), {}, ir::RefMode::stepwise).at(0).f.at(0);
  };
  EXPECT_EQ(cast({{"to", 17}}), 448);
  EXPECT_EQ(cast({{"to", 17}, {"saturate", 1}}), 448);
  EXPECT_TRUE(std::isnan(cast({{"to", 17}, {"saturate", 0}})));
  EXPECT_EQ(cast({{"to", 19}}), 1024);
}

// Scales of a tensor, of each row, and of each two neighbours in a row.
TEST(OnnxTensors, EightBitFloatsAreQuantized) {
  const auto quantized = [](const pb::TensorProto& scale, const OnnxAttributes& attributes) {
    OnnxModel model(21);
    model.constant("x", float_tensor({2, 3}, 6)).constant("scale", scale);
    model.constant("zero", empty_tensor(17, {0}));
    model.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"}, attributes);
    model.node("DequantizeLinear", {"q", "scale", "zero"}, {"y"}, attributes);
    model.output("q").output("y");
    return ir::interpret(model.import(), {}, ir::RefMode::stepwise);
  };
  const auto check = [&](const pb::TensorProto& scale, const OnnxAttributes& attributes,
                         const std::vector<double>& expected) {
    const auto results = quantized(scale, attributes);
    EXPECT_EQ(results.at(0).dtype, DType::f8e4m3);
    EXPECT_EQ(results.at(0).f, expected);
    EXPECT_EQ(results.at(1).dtype, DType::f32);
    EXPECT_EQ(results.at(1).f, std::vector<double>(6, 6));
  };
  check(float_tensor({}, 4), {}, std::vector<double>(6, 1.5));
  pb::TensorProto rows = float_tensor({2}, 4);
  rows.set_float_data(1, 0.5);
  check(rows, {{"axis", 0}}, {1.5, 1.5, 1.5, 12, 12, 12});
  pb::TensorProto blocks = float_tensor({2, 2}, 4);
  blocks.set_float_data(1, 0.5);
  check(blocks, {{"axis", 1}, {"block_size", 2}}, {1.5, 1.5, 12, 1.5, 1.5, 1.5});
}

TEST(OnnxTensors, RawDataAndBools) {
  pb::TensorProto tensor = empty_tensor(Proto::BOOL, {3});
  tensor.set_raw_data(std::string("\0\2\1", 3));
  const Tensor read = imported(tensor);
  EXPECT_EQ(read.get_int(0), 0);
  EXPECT_EQ(read.get_int(1), 1);
  pb::TensorProto none = empty_tensor(Proto::FLOAT, {0, 3});
  EXPECT_EQ(imported(none).numel(), 0);
}

TEST(OnnxTensors, WhatDoesNotFitIsRefused) {
  const auto refuse = [](const pb::TensorProto& tensor, const std::string& words) {
    EXPECT_ERROR(imported(tensor), "m.onnx: initialiser 'w': " + words);
  };
  pb::TensorProto tensor = float_tensor({2}, 1);
  tensor.set_dims(0, 3);
  refuse(tensor, "f32[3] needs 12 bytes of data, but 8 are there");
  tensor.set_dims(0, 1);
  refuse(tensor, "f32[1] needs 4 bytes of data, but 8 are there");
  tensor.set_dims(0, -1);
  refuse(tensor, "its size is impossible");
  tensor.set_dims(0, int64_t{1} << 62);
  refuse(tensor, "its size is impossible");
  tensor = float_tensor({2}, 1);
  tensor.set_raw_data("12345678");
  refuse(tensor, "has both raw and typed data");
  tensor = float_tensor({2}, 1);
  tensor.add_int32_data(1);
  refuse(tensor, "has data of another type than f32");
  refuse(empty_tensor(Proto::STRING, {}), "tensors of strings are not supported");
  refuse(empty_tensor(Proto::COMPLEX64, {}), "tensors of complex numbers are not supported");
  refuse(empty_tensor(0, {}), "the element type is not given");
  refuse(empty_tensor(29, {}), "element type 29 of TensorProto.DataType is not supported");
  tensor = float_tensor({2}, 1);
  tensor.mutable_segment()->set_begin(0);
  refuse(tensor, "tensors in segments are not supported");
  refuse(empty_tensor(Proto::FLOAT, std::vector<int64_t>(100, 1)), "has 100 dims");
}

// ---- external data

class OnnxExternalData : public TensorFileTest {
 protected:
  // f32[2] in a file beside the model; `offset` and `length` may be omitted.
  static pb::TensorProto tensor(const std::string& location, const std::string& offset = "",
                                const std::string& length = "") {
    pb::TensorProto result = empty_tensor(Proto::FLOAT, {2});
    result.set_data_location(Proto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      auto& entry = *result.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    return result;
  }

  void refuse(const pb::TensorProto& external, const std::string& words) const {
    expect_bad_input([&] { imported(external, folder / "m.onnx"); }, words);
  }

  static std::string floats(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
};

TEST_F(OnnxExternalData, IsReadFromTheModelsFolder) {
  put("w.bin", floats({1, 2, 3}));
  for (const auto& external : {tensor("w.bin"), tensor("w.bin", "0", "8")})
    EXPECT_EQ(imported(external, folder / "m.onnx").get(1), 2);
  EXPECT_EQ(imported(tensor("w.bin", "4"), folder / "m.onnx").get(1), 3);
}

TEST_F(OnnxExternalData, OutsideTheFolderIsRefused) {
  put("w.bin", floats({1, 2}));
  std::filesystem::create_directory(folder / "inside");
  std::filesystem::create_symlink(folder / "w.bin", folder / "inside/link.bin");
  const auto within = [&](const std::string& location, const std::string& words) {
    expect_bad_input([&] { imported(tensor(location), folder / "inside/m.onnx"); }, words);
  };
  within((folder / "w.bin").string(), "an absolute path");
  within("../w.bin", "'..' is not allowed");
  within("link.bin", "a link leads out of");
}

TEST_F(OnnxExternalData, FilesThatCannotHoldItAreRefused) {
  put("short.bin", floats({1}));
  put("w.bin", floats({1, 2}));
  std::filesystem::create_directory(folder / "sub");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  refuse(tensor("missing.bin"), "missing.bin");
  refuse(tensor(""), "external data without a location");
  refuse(tensor("short.bin"), "short.bin has 4 bytes; 8 from offset 0 are needed");
  refuse(tensor("w.bin", "4"), "w.bin has 8 bytes; 8 from offset 4 are needed");
  refuse(tensor("w.bin", "9223372036854775807"), "8 from offset 9223372036854775807 are needed");
  refuse(tensor("w.bin", "99999999999999999999"), "'99999999999999999999' is no offset or length");
  refuse(tensor("w.bin", "-4"), "'-4' is no offset or length");
  refuse(tensor("w.bin", "0", "4"), "f32[2] needs 8 bytes, but its external data has 4");
  refuse(tensor("sub"), "not a regular file");
  refuse(tensor("fifo"), "not a regular file");
  refuse(tensor("a\nb"), "a?b");
}

}  // namespace
}  // namespace tcc::testing
