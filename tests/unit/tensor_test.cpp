#include "ir/tensor.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "support/error.h"

namespace tcc {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

Tensor of_f64(const std::vector<double>& values) {
  Tensor tensor(DType::f64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

TEST(Tensor, BeginsAsZeros) {
  for (const DTypeInfo& type : all_dtypes()) {
    for (int64_t count : {1, 1000, 3 << 20}) {  // small ones and mapped ones
      const Tensor tensor(type.dtype, {count, 2});
      EXPECT_EQ(tensor.numel(), 2 * count);
      EXPECT_EQ(tensor.bytes(), static_cast<size_t>(2 * count * type.bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
      for (int64_t i = 0; i < tensor.numel(); i += 997) ASSERT_EQ(tensor.get(i), 0);
      ASSERT_EQ(tensor.get(tensor.numel() - 1), 0);
    }
  }
}

TEST(Tensor, ScalarAndEmptyShapes) {
  EXPECT_EQ(Tensor(DType::f32, {}).numel(), 1);
  EXPECT_EQ(Tensor(DType::f32, {3, 0, 5}).numel(), 0);
  EXPECT_EQ(Tensor().numel(), 0);
}

TEST(Tensor, RefusesSizesThatOverflow) {
  EXPECT_THROW(Tensor(DType::f32, {-1}), Error);
  EXPECT_THROW(Tensor(DType::f32, {int64_t{1} << 40, int64_t{1} << 40}), Error);
  EXPECT_THROW(Tensor(DType::f64, {int64_t{1} << 61}), Error);
  EXPECT_THROW(Tensor(DType::u8, {Tensor::max_bytes + 1}), Error);
  try {
    const Tensor tensor(DType::f16, {int64_t{1} << 62, 4});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(std::string(error.what()).find("f16[4611686018427387904, 4]"), std::string::npos);
  }
  EXPECT_FALSE(tensor_bytes(DType::f32, std::vector<int64_t>{0, int64_t{1} << 62, 4}));
}

TEST(Tensor, CopiesAreIndependentAndMovesAreCheap) {
  for (int64_t count : {5, 3 << 20}) {
    Tensor original(DType::i32, {count});
    original.set_int(count - 1, 7);
    Tensor copy = original;
    copy.set_int(count - 1, 8);
    EXPECT_EQ(original.get_int(count - 1), 7);
    const std::byte* place = copy.data();
    Tensor moved = std::move(copy);
    EXPECT_EQ(moved.data(), place);
    original = moved;
    EXPECT_EQ(original.get_int(count - 1), 8);
    original = original;  // NOLINT
    EXPECT_EQ(original.get_int(count - 1), 8);
  }
}

TEST(Tensor, SetRoundsAndWraps) {
  Tensor half(DType::f16, {1}), byte(DType::u8, {1}), big(DType::u64, {1}),
      flag(DType::boolean, {1});
  half.set(0, 1.0 + 0x1p-11 + 0x1p-40);
  EXPECT_EQ(half.get(0), 1.0 + 0x1p-10);
  byte.set(0, 300.9);
  EXPECT_EQ(byte.get_int(0), 44);
  byte.set_int(0, -1);
  EXPECT_EQ(byte.get(0), 255);
  big.set(0, -1.0);
  EXPECT_EQ(big.get_int(0), -1);
  EXPECT_EQ(big.get(0), 0x1p64);
  flag.set(0, 0.5);
  EXPECT_EQ(flag.get_int(0), 1);
  flag.set_int(0, 0);
  EXPECT_EQ(flag.get(0), 0);
}

TEST(Tensor, IntegersAreRoundedOnceIntoFloats) {
  // 2^60 + half an f32 step + 1: rounding to f64 first would make it a tie.
  const int64_t value = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  Tensor single(DType::f32, {1}), brain(DType::bf16, {1});
  single.set_int(0, value);
  EXPECT_EQ(single.get_int(0), (int64_t{1} << 60) + (int64_t{1} << 37));
  brain.set_int(0, (int64_t{1} << 60) + (int64_t{1} << 52) + 1);
  EXPECT_EQ(brain.get_int(0), (int64_t{1} << 60) + (int64_t{1} << 53));
  brain.set_int(0, -(int64_t{1} << 60) - (int64_t{1} << 52) - 1);
  EXPECT_EQ(brain.get_int(0), -(int64_t{1} << 60) - (int64_t{1} << 53));
}

TEST(Cast, FloatToIntegerTruncatesAndSaturates) {
  const Tensor values =
      of_f64({1.9, -1.9, 1e30, -1e30, NAN, 127.9, 128, -128.9, inf, -inf, 0x1p63, 0x1p64});
  const std::vector<int64_t> i8 = {1, -1, 127, -128, 0, 127, 127, -128, 127, -128, 127, 127};
  const std::vector<int64_t> u8 = {1, 0, 255, 0, 0, 127, 128, 0, 255, 0, 255, 255};
  const std::vector<int64_t> i64 = {1,   -1,   INT64_MAX, INT64_MIN, 0,         127,
                                    128, -128, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX};
  const std::vector<int64_t> u64 = {1, 0, -1, 0, 0, 127, 128, 0, -1, 0, INT64_MIN, -1};
  for (DType from : {DType::f64, DType::f32}) {
    const Tensor source = cast(values, from);
    for (int64_t i = 0; i < values.numel(); ++i) {
      EXPECT_EQ(cast(source, DType::i8).get_int(i), i8[i]) << values.get(i);
      EXPECT_EQ(cast(source, DType::u8).get_int(i), u8[i]) << values.get(i);
      EXPECT_EQ(cast(source, DType::i64).get_int(i), i64[i]) << values.get(i);
      EXPECT_EQ(cast(source, DType::u64).get_int(i), u64[i]) << values.get(i);
    }
    EXPECT_EQ(cast(source, DType::boolean).get_int(4), 1);  // NaN
  }
}

TEST(Cast, IntegersWrap) {
  Tensor source(DType::i32, {3});
  source.set_int(0, -1), source.set_int(1, 300), source.set_int(2, INT32_MIN);
  EXPECT_EQ(cast(source, DType::u8).get_int(0), 255);
  EXPECT_EQ(cast(source, DType::u8).get_int(1), 44);
  EXPECT_EQ(cast(source, DType::u32).get_int(2), int64_t{1} << 31);
  EXPECT_EQ(cast(source, DType::boolean).get_int(1), 1);
  EXPECT_EQ(cast(source, DType::f64).get(2), -0x1p31);
}

// cast() of every pair of types agrees, element by element, with the scalar functions.
TEST(Cast, AgreesWithScalarAccess) {
  std::mt19937_64 bits(3);
  const int64_t count = 1003;  // not a multiple of a vector
  for (const DTypeInfo& from : all_dtypes()) {
    Tensor source(from.dtype, {count});
    for (uint8_t& byte : source.as<uint8_t>())
      byte = static_cast<uint8_t>(from.dtype == DType::boolean ? bits() & 1 : bits());
    for (const DTypeInfo& to : all_dtypes()) {
      const Tensor result = cast(source, to.dtype);
      ASSERT_EQ(result.dtype(), to.dtype);
      Tensor expected(to.dtype, {1});
      for (int64_t i = 0; i < count; ++i) {
        if (to.is_integer) {
          if (from.is_float) continue;  // saturates, tested above
          expected.set_int(0, source.get_int(i));
        } else if (from.is_float || to.dtype == DType::boolean || from.dtype == DType::u64) {
          if (from.dtype == DType::u64 && to.bytes < 8) continue;  // get() has rounded already
          expected.set(0, source.get(i));
        } else {
          expected.set_int(0, source.get_int(i));
        }
        if (std::isnan(expected.get(0))) {
          ASSERT_TRUE(std::isnan(result.get(i)));
        } else {
          ASSERT_EQ(result.get(i), expected.get(0))
              << from.name << " to " << to.name << " of " << source.get(i);
        }
      }
    }
  }
}

// The vector code for f16 gives the bits of the scalar functions, NaN included.
TEST(Cast, BulkF16IsBitExact) {
  Tensor halves(DType::f16, {0x10000});
  for (int i = 0; i < 0x10000; ++i) halves.as<uint16_t>()[i] = static_cast<uint16_t>(i);
  const Tensor wide = cast(halves, DType::f32);
  for (int i = 0; i < 0x10000; ++i)
    ASSERT_EQ(wide.as<uint32_t>()[i], std::bit_cast<uint32_t>(f16_to_f32(static_cast<uint16_t>(i))))
        << i;

  std::mt19937 bits(4);
  Tensor singles(DType::f32, {200003});
  for (uint32_t& word : singles.as<uint32_t>()) {
    word = static_cast<uint32_t>(bits());
    if (bits() % 2) word = (word & 0x8fffffff) | 0x30000000;  // around f16's range
  }
  const Tensor narrow = cast(singles, DType::f16);
  for (int64_t i = 0; i < singles.numel(); ++i)
    ASSERT_EQ(narrow.as<uint16_t>()[i], f32_to_f16(singles.as<float>()[i])) << singles.get(i);
}

TEST(Cast, Bf16RoundsLikeF64ToBf16) {
  std::mt19937 bits(5);
  Tensor singles(DType::f32, {100001});
  for (uint32_t& word : singles.as<uint32_t>()) word = static_cast<uint32_t>(bits());
  const Tensor narrow = cast(singles, DType::bf16);
  for (int64_t i = 0; i < singles.numel(); ++i) {
    const float value = singles.as<float>()[i];
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(narrow.get(i)));
    else
      ASSERT_EQ(narrow.as<uint16_t>()[i], f64_to_bf16(value)) << value;
  }
}

TEST(Tensor, TypeText) {
  EXPECT_EQ(type_text(DType::f32, std::vector<int64_t>{2, 3}), "f32[2, 3]");
  EXPECT_EQ(type_text(DType::boolean, {}), "bool[]");
}

}  // namespace
}  // namespace tcc
