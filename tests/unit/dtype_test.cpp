#include "ir/dtype.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "support/error.h"

namespace tcc {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

TEST(DType, NamesParseBack) {
  for (const DTypeInfo& type : all_dtypes()) {
    EXPECT_EQ(parse_dtype(type.name), type.dtype);
    EXPECT_EQ(&info(type.dtype), &type);
    EXPECT_FALSE(type.is_float && type.is_integer);
  }
  EXPECT_EQ(all_dtypes().size(), 15u);
  EXPECT_FALSE(parse_dtype("f31"));
  EXPECT_FALSE(parse_dtype(""));
  EXPECT_THROW(info(static_cast<DType>(200)), InternalError);
}

TEST(DType, NumbersStay) {
  EXPECT_EQ(static_cast<int>(DType::f64), 0);
  EXPECT_EQ(static_cast<int>(DType::boolean), 12);
  EXPECT_EQ(static_cast<int>(DType::f8e5m2), 14);
}

TEST(DType, PromotionIsPyTorchs) {
  const struct {
    DType a, b, result;
  } cases[] = {
      {DType::f16, DType::bf16, DType::f32},      {DType::f16, DType::f64, DType::f64},
      {DType::bf16, DType::f32, DType::f32},      {DType::i64, DType::f16, DType::f16},
      {DType::boolean, DType::bf16, DType::bf16}, {DType::boolean, DType::u8, DType::u8},
      {DType::u8, DType::i8, DType::i16},         {DType::u8, DType::i32, DType::i32},
      {DType::i16, DType::i64, DType::i64},       {DType::u16, DType::i16, DType::i32},
      {DType::u32, DType::i8, DType::i64},        {DType::u64, DType::i8, DType::i64},
      {DType::u8, DType::u32, DType::u32},        {DType::i8, DType::boolean, DType::i8},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(promote(c.a, c.b), c.result) << name(c.a) << " " << name(c.b);
    EXPECT_EQ(promote(c.b, c.a), c.result) << name(c.b) << " " << name(c.a);
  }
}

TEST(DType, PromotionIsCommutativeAndIdempotent) {
  for (const auto& a : all_dtypes()) {
    EXPECT_EQ(promote(a.dtype, a.dtype), a.dtype);
    for (const auto& b : all_dtypes()) {
      if (a.dtype != b.dtype && (is_f8(a.dtype) || is_f8(b.dtype))) {
        EXPECT_THROW(promote(a.dtype, b.dtype), Error);
        continue;
      }
      const DType both = promote(a.dtype, b.dtype);
      EXPECT_EQ(both, promote(b.dtype, a.dtype));
      EXPECT_EQ(promote(both, a.dtype), both);
    }
  }
}

TEST(DType, EveryF16SurvivesTheWayThroughF32AndF64) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = f16_to_f32(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
      EXPECT_TRUE(std::isnan(f16_to_f32(f64_to_f16(value))));
      continue;
    }
    ASSERT_EQ(f32_to_f16(value), half);
    ASSERT_EQ(f64_to_f16(value), half);
    // The definition of the format.
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    double expected = exponent == 31  ? inf
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
    if (half & 0x8000) expected = -expected;
    ASSERT_EQ(value, expected);
  }
}

TEST(DType, EveryBf16SurvivesTheWayThroughF64) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(bf16_to_f32(f64_to_bf16(value))));
    else
      ASSERT_EQ(f64_to_bf16(value), bits);
  }
}

// The definitions of the formats, by codes without the sign.
double f8e4m3_value(int code) {
  if (code == 0x7f) return std::numeric_limits<double>::quiet_NaN();
  const int exponent = code >> 3, mantissa = code & 7;
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}
double f8e5m2_value(int code) {
  const int exponent = code >> 2, mantissa = code & 3;
  if (exponent == 31) return mantissa == 0 ? inf : std::numeric_limits<double>::quiet_NaN();
  return exponent == 0 ? std::ldexp(mantissa, -16) : std::ldexp(4 + mantissa, exponent - 17);
}

TEST(DType, EveryF8IsWhatItsFormatSaysAndSurvivesTheWayThroughF64) {
  for (int bits = 0; bits < 256; ++bits) {
    const auto check = [&](double expected, double value, int back) {
      if (bits & 0x80) expected = -expected;
      EXPECT_EQ(std::isnan(value), std::isnan(expected)) << bits;
      EXPECT_EQ(std::signbit(value), bits >= 0x80) << bits;
      if (std::isnan(expected)) return;
      EXPECT_EQ(value, expected) << bits;
      EXPECT_EQ(back, bits);
    };
    const auto code = static_cast<uint8_t>(bits);
    const float e4m3 = f8e4m3_to_f32(code), e5m2 = f8e5m2_to_f32(code);
    check(f8e4m3_value(bits & 0x7f), e4m3, f64_to_f8e4m3(e4m3));
    check(f8e5m2_value(bits & 0x7f), e5m2, f64_to_f8e5m2(e5m2));
  }
  EXPECT_TRUE(std::isnan(f8e4m3_to_f32(f64_to_f8e4m3(-NAN))));
  EXPECT_TRUE(std::isnan(f8e5m2_to_f32(f64_to_f8e5m2(-NAN))));
  EXPECT_EQ(f8e4m3_value(0x7e), info(DType::f8e4m3).largest);
  EXPECT_EQ(f8e5m2_value(0x7b), info(DType::f8e5m2).largest);
}

TEST(DType, F8RoundsToNearestEvenAtEveryTie) {
  // `last`: the largest finite code. Behind it the next code would be `beyond`.
  const auto check = [](auto value_of, auto narrow, int last, double beyond) {
    for (int code = 0; code <= last; ++code) {
      const double below = value_of(code), above = code == last ? beyond : value_of(code + 1);
      const double tie = (below + above) / 2;  // exact
      for (const double sign : {1.0, -1.0}) {
        const int s = sign < 0 ? 0x80 : 0;
        EXPECT_EQ(narrow(sign * tie), s | (code + code % 2)) << tie;
        EXPECT_EQ(narrow(sign * std::nextafter(tie, 0)), s | code) << tie;
        EXPECT_EQ(narrow(sign * std::nextafter(tie, inf)), s | (code + 1)) << tie;
        EXPECT_EQ(narrow(sign * static_cast<double>(std::nextafter(static_cast<float>(tie), 0.f))),
                  s | code);
      }
    }
    for (const double large : {0x1p20, 0x1p1000, inf}) EXPECT_EQ(narrow(large), last + 1);
    EXPECT_EQ(narrow(-inf), 0x80 | (last + 1));
  };
  check(f8e4m3_value, f64_to_f8e4m3, 0x7e, 480);
  check(f8e5m2_value, f64_to_f8e5m2, 0x7b, 65536);
}

// The neighbours of `value` in a 16-bit format, found without the code under test: `widen` is
// monotonic over the positive codes.
template <class Widen>
uint16_t nearest_code(double magnitude, uint16_t infinity, Widen widen) {
  uint32_t low = 0, high = infinity;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (static_cast<double>(widen(static_cast<uint16_t>(middle))) <= magnitude ? low : high) = middle;
  }
  const double below = widen(static_cast<uint16_t>(low));
  // Infinity stands for the next power of two when distances are compared.
  const double above = high == infinity ? 2 * below - widen(static_cast<uint16_t>(low - 1))
                                        : widen(static_cast<uint16_t>(high));
  const double to_below = magnitude - below, to_above = above - magnitude;
  if (to_below != to_above) return static_cast<uint16_t>(to_below < to_above ? low : high);
  return static_cast<uint16_t>(low % 2 == 0 ? low : high);
}

TEST(DType, NarrowingFromF64RoundsOnceToNearestEven) {
  std::mt19937_64 bits(1);
  for (int i = 0; i < 200000; ++i) {
    // All exponents of f16 and around them; half of the values lie on or next to a tie.
    double value = std::ldexp(1.0 + static_cast<double>(bits() >> 12) * 0x1p-52,
                              static_cast<int>(bits() % 48) - 28);
    if (i % 2 == 0) {
      const double tie = std::ldexp(
          std::floor(std::ldexp(value, 11 - std::ilogb(value))) + (bits() % 2 ? 0.0 : 0.5),
          std::ilogb(value) - 11);
      value = i % 6 == 0 ? tie : std::nextafter(tie, i % 6 == 2 ? inf : 0);
    }
    ASSERT_EQ(f64_to_f16(value), nearest_code(value, 0x7c00, f16_to_f32)) << value;
    ASSERT_EQ(f64_to_f16(-value), f64_to_f16(value) | 0x8000) << value;
    const double scaled = std::ldexp(value, i % 3 == 0 ? -120 : i % 3 == 1 ? 0 : 110);
    ASSERT_EQ(f64_to_bf16(scaled), nearest_code(scaled, 0x7f80, bf16_to_f32)) << scaled;
  }
}

TEST(DType, ADoubleIsNotRoundedTwice) {
  // Just above a tie of f16, but exactly on it after rounding to f32.
  const double value = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(round_to(DType::f16, value), 1.0 + 0x1p-10);
  EXPECT_EQ(round_to(DType::f16, static_cast<float>(value)), 1.0);
  EXPECT_EQ(round_to(DType::bf16, 1.0 + 0x1p-8 + 0x1p-40), 1.0 + 0x1p-7);
}

TEST(DType, F32ToF16AgreesWithF64ToF16) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1013) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(f32_to_f16(value), f64_to_f16(value)) << value;
  }
}

TEST(DType, RoundTo) {
  EXPECT_EQ(round_to(DType::f16, 65519.99), 65504);
  EXPECT_EQ(round_to(DType::f16, 65520), inf);
  EXPECT_EQ(round_to(DType::f16, -inf), -inf);
  EXPECT_EQ(round_to(DType::f16, 0x1p-25), 0);
  EXPECT_EQ(round_to(DType::f16, 0x1.001p-25), 0x1p-24);
  EXPECT_TRUE(std::signbit(round_to(DType::bf16, -0.0)));
  EXPECT_TRUE(std::isnan(round_to(DType::bf16, NAN)));
  EXPECT_EQ(round_to(DType::bf16, 3.4e38), inf);
  EXPECT_EQ(round_to(DType::f8e4m3, 464), 448);
  EXPECT_TRUE(std::isnan(round_to(DType::f8e4m3, std::nextafter(464, inf))));
  EXPECT_TRUE(std::isnan(round_to(DType::f8e4m3, -inf)));
  EXPECT_EQ(round_to(DType::f8e4m3, 0x1p-10), 0);
  EXPECT_EQ(round_to(DType::f8e4m3, 0x1.8p-9), 0x1p-8);
  EXPECT_EQ(round_to(DType::f8e5m2, std::nextafter(61440, 0)), 57344);
  EXPECT_EQ(round_to(DType::f8e5m2, -61440), -inf);
  EXPECT_EQ(round_to(DType::f32, 0.1), 0.1f);
  EXPECT_EQ(round_to(DType::f64, 0.1), 0.1);
  EXPECT_EQ(round_to(DType::i8, 200.7), -56);
  EXPECT_EQ(round_to(DType::u8, -1.5), 255);
  EXPECT_EQ(round_to(DType::i32, 0x1p32 + 5), 5);
  EXPECT_EQ(round_to(DType::i64, 0x1p63), -0x1p63);
  EXPECT_EQ(round_to(DType::u64, 0x1p63), 0x1p63);
  EXPECT_EQ(round_to(DType::i64, 0x1p64 + 0x1p12), 0x1p12);
  EXPECT_EQ(round_to(DType::i32, NAN), 0);
  EXPECT_EQ(round_to(DType::i32, inf), 0);
  EXPECT_EQ(round_to(DType::boolean, -0.1), 1);
  EXPECT_EQ(round_to(DType::boolean, 0.0), 0);
}

TEST(DType, WrapTo) {
  EXPECT_EQ(wrap_to(DType::i8, 128), -128);
  EXPECT_EQ(wrap_to(DType::u8, -1), 255);
  EXPECT_EQ(wrap_to(DType::i32, int64_t{1} << 31), -(int64_t{1} << 31));
  EXPECT_EQ(wrap_to(DType::u32, -1), 0xffffffff);
  EXPECT_EQ(wrap_to(DType::i64, INT64_MIN), INT64_MIN);
  EXPECT_EQ(wrap_to(DType::boolean, 256), 1);
}

}  // namespace
}  // namespace tcc
