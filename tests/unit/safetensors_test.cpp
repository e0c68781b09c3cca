#include "frontend/safetensors.h"

#include "tests/unit/tensor_file_fixture.h"

namespace tcc {
namespace {

using testing::expect_bad_input;
using testing::expect_same;
using testing::refuses;

class Safetensors : public testing::TensorFileTest {
 protected:
  static std::string file_of(const std::string& directory, const std::string& data) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += static_cast<char>(directory.size() >> (8 * i) & 255);
    return text + directory + data;
  }

  static std::string entry(const std::string& name, const char* dtype,
                           const std::vector<int64_t>& shape, size_t begin, size_t end) {
    std::string dims;
    for (int64_t dim : shape) dims += str(dims.empty() ? "" : ",", dim);
    return str('"', name, "\":{\"dtype\":\"", dtype, "\",\"shape\":[", dims, "],\"data_offsets\":[",
               begin, ",", end, "]}");
  }

  void expect_refused(const std::string& directory, const std::string& data,
                      const std::string& reason) {
    SCOPED_TRACE(directory);
    const auto path = put("bad.safetensors", file_of(directory, data));
    expect_bad_input([&] { SafetensorsFile{path}; }, reason);
    expect_bad_input([&] { SafetensorsFile{path}; }, "bad.safetensors: ");
  }
};

TEST_F(Safetensors, RoundTrips) {
  const std::pair<DType, const char*> types[] = {
      {DType::f64, "F64"},     {DType::f32, "F32"}, {DType::f16, "F16"}, {DType::bf16, "BF16"},
      {DType::i8, "I8"},       {DType::i16, "I16"}, {DType::i32, "I32"}, {DType::i64, "I64"},
      {DType::u8, "U8"},       {DType::u16, "U16"}, {DType::u32, "U32"}, {DType::u64, "U64"},
      {DType::boolean, "BOOL"}};
  for (int round = 0; round < 30; ++round) {
    std::string directory = "{\"__metadata__\":{\"format\":\"pt\"}", data;
    std::vector<Tensor> tensors;
    for (const auto& [dtype, type_name] : types) {
      tensors.push_back(random(dtype, random_shape()));
      const size_t begin = data.size();
      data.append(reinterpret_cast<const char*>(tensors.back().data()), tensors.back().bytes());
      directory += "," + entry(str("layer.", type_name), type_name, tensors.back().shape(), begin,
                               data.size());
    }
    put("x.safetensors", file_of(directory + "}   ", data));
    const auto file = open_tensor_file(folder / "x.safetensors");
    EXPECT_EQ(file->names().size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = str("layer.", types[i].second);
      EXPECT_EQ(file->info(name).dtype, tensors[i].dtype());
      EXPECT_EQ(file->info(name).shape, tensors[i].shape());
      expect_same(file->load(name), tensors[i]);
    }
    EXPECT_FALSE(file->contains("__metadata__"));
    expect_bad_input([&] { file->load("layer.X"); }, "no tensor 'layer.X'; did you mean");
  }
}

TEST_F(Safetensors, NamesComeInTheOrderOfTheData) {
  const std::string directory =
      "{" + entry("b", "U8", {2}, 0, 2) + "," + entry("a", "U8", {1}, 2, 3) + "}";
  EXPECT_EQ(SafetensorsFile(put("x.safetensors", file_of(directory, "123"))).names(),
            (std::vector<std::string>{"b", "a"}));
  EXPECT_TRUE(SafetensorsFile(put("x.safetensors", file_of("{}", ""))).names().empty());
}

TEST_F(Safetensors, RefusesOffsetsThatLie) {
  expect_refused("{" + entry("a", "F32", {2}, 0, 8) + "}", "1234567", "tensor 'a': truncated");
  expect_refused("{" + entry("a", "F32", {2}, 0, 8) + "}", "123456789", "too long");
  expect_refused("{" + entry("a", "F32", {2}, 0, 4) + "}", "1234",
                 "f32[2] does not have the 4 bytes of its data");
  expect_refused("{" + entry("a", "F32", {2}, 8, 0) + "}", "12345678", "[begin, end]");
  expect_refused("{" + entry("a", "U8", {4}, 0, 4) + "," + entry("b", "U8", {4}, 2, 6) + "}",
                 "123456", "overlaps");
  expect_refused("{" + entry("a", "U8", {4}, 0, 4) + "," + entry("b", "U8", {1}, 5, 6) + "}",
                 "123456", "a gap of 1 bytes");
  expect_refused("{" + entry("a", "U8", {4}, 1, 5) + "}", "12345", "gap");
  expect_refused("{" + entry("a", "F32", {int64_t{1} << 31, int64_t{1} << 31, 4}, 0, 0) + "}", "",
                 "does not have");
  expect_refused("{" + entry("a", "U8", {0, int64_t{1} << 62, 4}, 0, 0) + "}", "", "does not have");
  expect_refused(
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,18446744073709551615]}}", "1",
      "[begin, end]");
}

TEST_F(Safetensors, RefusesBadDirectories) {
  const std::string offsets = ",\"data_offsets\":[0,1]}}", shape = ",\"shape\":[1]";
  expect_refused("[]", "", "not a JSON object");
  expect_refused("{", "", "not valid JSON");
  expect_refused("{\"a\":1}", "", "tensor 'a': it has no 'dtype'");
  expect_refused("{\"a\":{\"dtype\":\"U8\"" + offsets, "1", "it has no 'shape'");
  expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "1", "it has no 'data_offsets'");
  expect_refused("{\"a\":{\"dtype\":8" + shape + offsets, "1", "'dtype' must be a string");
  expect_refused("{\"a\":{\"dtype\":\"F8_E8M0\"" + shape + offsets, "1",
                 "dtype 'F8_E8M0' is not supported");
  expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[-1]" + offsets, "1", "'shape' must be");
  expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0]" + offsets, "1", "'shape' must be");
  expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1e999]" + offsets, "1", "out of range");
  expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":{}" + offsets, "1", "'shape' must be");
  expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]" + offsets,
                 "1", "at most 16");
  expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[[1]]" + offsets, "1", "nested too deeply");
  expect_refused(std::string(100000, '['), "", "nested too deeply");
  const std::string a = entry("a", "U8", {1}, 0, 1);
  expect_refused("{" + a + "," + a + "}", "1", "has 'a' twice");
  expect_refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"" + shape + offsets, "1",
                 "has 'dtype' twice");
  expect_refused("{\"\xff\":1}", "", "not valid JSON");
  expect_refused("{\"a\\nb\":1}", "", "tensor 'a?b'");
}

TEST_F(Safetensors, RefusesBadLengths) {
  expect_bad_input([&] { SafetensorsFile(put("a", "1234567")); }, "truncated: 7 bytes");
  expect_bad_input([&] { SafetensorsFile(put("a", std::string(8, '\xff') + "{}")); },
                   "18446744073709551615");
  expect_bad_input([&] { SafetensorsFile(put("a", std::string("\x03\0\0\0\0\0\0\0{}", 10))); },
                   "a directory of 3 bytes in a file of 10");
}

TEST_F(Safetensors, EveryTruncationIsRefused) {
  const std::string content =
      file_of("{" + entry("a", "F16", {2, 3}, 0, 12) + "," + entry("e", "F32", {0}, 12, 12) + "," +
                  entry("b", "BOOL", {3}, 12, 15) + "}",
              std::string(15, '\1'));
  for (size_t size = 0; size < content.size(); ++size)
    EXPECT_TRUE(refuses(put("cut.safetensors", content.substr(0, size)))) << size;
  EXPECT_FALSE(refuses(put("cut.safetensors", content)));
  std::string flipped = content;
  for (size_t bit = 0; bit < 8 * content.size(); ++bit) {
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    refuses(put("flip.safetensors", flipped));
    flipped = content;
  }
}

TEST_F(Safetensors, WhatIsWrittenIsReadBack) {
  std::vector<std::pair<std::string, TensorInfo>> list;
  std::vector<TensorPtr> tensors;
  for (const DTypeInfo& info : all_dtypes()) {
    tensors.push_back(std::make_shared<const Tensor>(random(info.dtype, random_shape())));
    list.emplace_back(str("layer \"", info.name, '"'),
                      TensorInfo{info.dtype, tensors.back()->shape()});
  }
  const auto path = folder / "w.safetensors";
  write_safetensors(path, list, [&](size_t k) { return tensors[k]; });
  const SafetensorsFile file(path);
  EXPECT_EQ(file.names().size(), list.size());
  for (size_t k = 0; k < list.size(); ++k) expect_same(file.load(list[k].first), *tensors[k]);
  EXPECT_EQ(static_cast<unsigned char>(testing::content_of(path)[0]) % 8, 0);  // aligned data

  write_safetensors(path, {}, nullptr);
  EXPECT_TRUE(SafetensorsFile(path).names().empty());
}

TEST_F(Safetensors, WhatCannotBeWrittenLeavesTheFile) {
  const auto path = put("w.safetensors", "as it was");
  const TensorInfo info{DType::f32, {2}};
  const auto load = [&](size_t k) -> TensorPtr {
    if (k == 1) fail_input("no data");
    return std::make_shared<const Tensor>(info.dtype, info.shape);
  };
  const auto write = [&](const std::string& a, const std::string& b) {
    write_safetensors(path, std::vector{std::pair{a, info}, std::pair{b, info}}, load);
  };
  expect_bad_input([&] { write("a", "b"); }, "no data");
  expect_bad_input([&] { write("a", "a"); }, "two tensors are named 'a'");
  expect_bad_input([&] { write("a", "__metadata__"); }, "no tensor can be named");
  expect_bad_input([&] { write("a", "\xff"); }, "not UTF-8");
  EXPECT_EQ(testing::content_of(path), "as it was");
  EXPECT_EQ(files_in_folder(), 1u);
}

}  // namespace
}  // namespace tcc
