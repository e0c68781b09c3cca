#include "frontend/npy.h"

#include <numeric>

#include "tests/unit/tensor_file_fixture.h"

namespace tcc {
namespace {

using testing::content_of;
using testing::expect_bad_input;
using testing::expect_same;
using testing::refuses;

class Npy : public testing::TensorFileTest {
 protected:
  // A version 1 file made of a header's text and data.
  std::string file_of(const std::string& header, const std::string& data) const {
    std::string text("\x93NUMPY\x01\x00", 8);
    text += static_cast<char>(header.size() & 255);
    text += static_cast<char>(header.size() >> 8);
    return text + header + data;
  }

  void expect_refused(const std::string& header, const std::string& data, const std::string& part) {
    SCOPED_TRACE(header);
    const auto path = put("bad.npy", file_of(header, data));
    expect_bad_input([&] { read_npy(path); }, part);
    expect_bad_input([&] { read_npy(path); }, "bad.npy: ");
  }
};

TEST_F(Npy, RoundTrips) {
  for (int i = 0; i < 100; ++i) {
    const DType dtype = all_dtypes()[bits() % all_dtypes().size()].dtype;
    if (!has_npy_code(dtype)) continue;
    const Tensor tensor = random(dtype, random_shape());
    write_npy(folder / "x.npy", tensor);
    expect_same(read_npy(folder / "x.npy"), tensor);
    const auto file = open_tensor_file(folder / "x.npy");
    EXPECT_EQ(file->names(), std::vector<std::string>{""});
    EXPECT_EQ(file->info("").shape, tensor.shape());
  }
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(Npy, LargeTensorsRoundTrip) {
  const Tensor tensor = random(DType::f32, {1500, 2, 1001});
  write_npy(folder / "x.npy", tensor);
  expect_same(read_npy(folder / "x.npy"), tensor);
}

TEST_F(Npy, WhatNumPyLacksIsWrittenAsF32) {
  for (const DType dtype : {DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    Tensor tensor(dtype, {3});
    tensor.set(0, 1.5), tensor.set(2, -3);
    write_npy(folder / "x.npy", tensor);
    expect_same(read_npy(folder / "x.npy"), cast(tensor, DType::f32));
  }
}

TEST_F(Npy, HeadersAreNumPys) {
  EXPECT_EQ(npy_header_text(DType::f64, {}),
            file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (), }" +
                        std::string(62, ' ') + "\n",
                    ""));
  EXPECT_EQ(npy_header_text(DType::boolean, {7}).substr(10, 58),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (7,), } ");
  EXPECT_EQ(npy_header_text(DType::i16, {7, 8}).substr(10, 60),
            "{'descr': '<i2', 'fortran_order': False, 'shape': (7, 8), } ");
  // numpy.save writes this file.
  Tensor flags(DType::boolean, {2, 2});
  flags.set(0, 1), flags.set(3, 1);
  write_npy(folder / "x.npy", flags);
  EXPECT_EQ(content_of(folder / "x.npy"), content_of(fixture("bool.npy")));
}

TEST_F(Npy, ReadsFilesOfNumPy) {
  const Tensor fortran = read_npy(fixture("fortran_f32.npy"));
  ASSERT_EQ(fortran.shape(), (std::vector<int64_t>{2, 3, 4}));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(fortran.get(i), i);
  const Tensor big = read_npy(fixture("big_endian_i16.npy"));
  ASSERT_EQ(big.dtype(), DType::i16);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(big.get_int(i), i - 3);
  for (const char* name : {"version2_f16.npy", "version3_f16.npy"}) {
    const Tensor half = read_npy(fixture(name));
    ASSERT_EQ(half.dtype(), DType::f16);
    EXPECT_EQ(half.get(1), -2);
    EXPECT_EQ(half.get(2), 65504);
  }
  EXPECT_EQ(read_npy(fixture("scalar_f64.npy")).get(0), 0.1);
  expect_bad_input([&] { read_npy(fixture("object.npy")); },
                   "object.npy: offset 20: Python objects (pickles) are never read");
}

TEST_F(Npy, FortranOrderOfEveryElementSize) {
  for (const auto& type : all_dtypes()) {
    if (!has_npy_code(type.dtype)) continue;
    const Tensor tensor = random(type.dtype, {3, 4, 2});
    std::string text = npy_header_text(type.dtype, {2, 4, 3});
    text.replace(text.find("False"), 5, "True ");
    // The transposed tensor's row-major bytes are the tensor's column-major ones.
    text.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    const Tensor read = read_npy(put("x.npy", text));
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 4; ++b)
        for (int c = 0; c < 3; ++c)
          EXPECT_EQ(std::memcmp(read.data() + ((a * 4 + b) * 3 + c) * type.bytes,
                                tensor.data() + ((c * 4 + b) * 2 + a) * type.bytes, type.bytes),
                    0);
  }
}

TEST_F(Npy, BoolsAreNormalised) {
  const Tensor flags =
      read_npy(put("x.npy", file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}",
                                    std::string("\0\2\xff", 3))));
  EXPECT_EQ(flags.as<uint8_t>()[1], 1);
  EXPECT_EQ(flags.as<uint8_t>()[2], 1);
}

TEST_F(Npy, ReadsUnusualButValidHeaders) {
  for (const char* header : {"{\"shape\":(2,),\"fortran_order\":True,\"descr\":\"<u1\"}",
                             " { 'descr' :'|u1' , 'shape': ( 2L , ) ,\n'fortran_order': False}\n"})
    EXPECT_EQ(read_npy(put("x.npy", file_of(header, "ab"))).get(1), 'b');
}

TEST_F(Npy, RefusesBadHeaders) {
  const std::string order = "'fortran_order': False, ";
  expect_refused("{'descr': '<f4', " + order + "'shape': (2,)}", "1234567",
                 "truncated: f32[2] has 8 bytes, the file 7");
  expect_refused("{'descr': '<f4', " + order + "'shape': (2,)}", "123456789", "too long");
  expect_refused("{'descr': '<f4', " + order + "'shape': (-1,)}", "", "expected a dim");
  expect_refused("{'descr': '<f4', " + order + "'shape': (99999999999999999999,)}", "",
                 "expected a dim");
  expect_refused("{'descr': '<f4', " + order + "'shape': (4294967296, 4294967296)}", "",
                 "too large");
  expect_refused("{'descr': '<f4', " + order + "'shape': (0, 4294967296, 4294967296)}", "",
                 "too large");
  expect_refused("{'descr': '<f4', " + order + "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
                 "1234", "more than 16 dims");
  expect_refused("{'descr': '<f4', " + order + "'shape': (1)}", "1234", "expected ','");
  expect_refused("{'descr': '<f4', " + order + "'shape': (1 2)}", "12345678", "expected ','");
  expect_refused("{'descr': '<f4', " + order + "'shape': (,)}", "1234", "expected a dim");
  expect_refused("{'descr': '<f4', " + order + "'shape': [1]}", "1234", "expected '('");
  expect_refused("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "1234",
                 "expected True or False");
  expect_refused("{'descr': '<f4', " + order + "}", "1234", "lacks 'shape'");
  expect_refused("{" + order + "'shape': (1,)}", "1234", "lacks 'descr'");
  expect_refused("{'descr': '<f4', " + order + order + "'shape': (1,)}", "1234",
                 "repeated key 'fortran_order'");
  expect_refused("{'descr': '<f4', 'x': 1, " + order + "'shape': (1,)}", "1234",
                 "unexpected or repeated key 'x'");
  expect_refused("{'descr': '<f4', " + order + "'shape': (1,)} import os", "1234",
                 "after the header");
  expect_refused("{'descr': '<f4', " + order + "'shape': (1,)", "1234", "expected ','");
  expect_refused("{'descr': '<f4, " + order, "1234", "is not supported");
  expect_refused("{'descr': [('a', '<f4')], " + order + "'shape': (1,)}", "1234",
                 "structured types");
  for (const char* code :
       {"<f16", "<c8", "<V2", "=f4", "|f4", "<f3", "<U4", "|S4", "f4", "<m8", "<b2", ""})
    expect_refused(str("{'descr': '", code, "', ", order, "'shape': (1,)}"), "12345678",
                   "is not supported");
  expect_refused("{'descr': '<f4", "1234", "string without an end");
  expect_refused("{'descr': '\\x3cf4', " + order, "1234", "backslash");
  expect_refused("", "", "expected '{'");
}

TEST_F(Npy, RefusesOtherFilesAndVersions) {
  expect_bad_input([&] { read_npy(put("a.npy", "")); }, "truncated");
  expect_bad_input([&] { read_npy(put("a.npy", "PK\3\4 something else")); }, "wrong magic");
  expect_bad_input([&] { read_npy(put("a.npy", std::string("\x93NUMPY\x04\x00\x00\x00", 10))); },
                   "version 4.0");
  expect_bad_input(
      [&] { read_npy(put("a.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12))); },
      "4294967295 bytes");
  expect_bad_input([&] { read_npy(folder / "none.npy"); }, "none.npy: cannot open");
  expect_bad_input([&] { open_tensor_file(folder / "x.txt"); }, "unknown kind of tensor file");
  const Tensor tensor(DType::f32, {2});
  write_npy(folder / "x.npy", tensor);
  expect_bad_input([&] { open_tensor_file(folder / "x.npy")->load("w"); }, "no tensor 'w'");
}

TEST_F(Npy, EveryTruncationIsRefused) {
  for (const char* name :
       {"fortran_f32.npy", "big_endian_i16.npy", "version2_f16.npy", "scalar_f64.npy"}) {
    const std::string content = content_of(fixture(name));
    for (size_t size = 0; size < content.size(); ++size)
      EXPECT_TRUE(refuses(put("cut.npy", content.substr(0, size)))) << name << " " << size;
    EXPECT_TRUE(refuses(put("cut.npy", content + '\0')));
    EXPECT_FALSE(refuses(put("cut.npy", content)));
  }
}

TEST_F(Npy, NoBitFlipCrashes) {
  for (const char* name : {"fortran_f32.npy", "version2_f16.npy"}) {
    std::string content = content_of(fixture(name));
    for (size_t bit = 0; bit < 8 * content.size(); ++bit) {
      content[bit / 8] ^= static_cast<char>(1 << bit % 8);
      refuses(put("flip.npy", content));
      content[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
  }
}

}  // namespace
}  // namespace tcc
