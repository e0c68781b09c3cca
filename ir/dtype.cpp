#include "ir/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "support/error.h"

namespace tcc {
namespace {

// In the order of the enumeration, so that info() is an index.
constexpr auto kDTypes = std::to_array<DTypeInfo>({
    {DType::f64, "f64", 8, true, false, true, 52, std::numeric_limits<double>::max()},
    {DType::f32, "f32", 4, true, false, true, 23, std::numeric_limits<float>::max()},
    {DType::f16, "f16", 2, true, false, true, 10, 65504},
    {DType::bf16, "bf16", 2, true, false, true, 7, 0x1.fep127},
    {DType::i8, "i8", 1, false, true, true, 0, 0},
    {DType::i16, "i16", 2, false, true, true, 0, 0},
    {DType::i32, "i32", 4, false, true, true, 0, 0},
    {DType::i64, "i64", 8, false, true, true, 0, 0},
    {DType::u8, "u8", 1, false, true, false, 0, 0},
    {DType::u16, "u16", 2, false, true, false, 0, 0},
    {DType::u32, "u32", 4, false, true, false, 0, 0},
    {DType::u64, "u64", 8, false, true, false, 0, 0},
    {DType::boolean, "bool", 1, false, false, false, 0, 0},
    {DType::f8e4m3, "f8e4m3", 1, true, false, true, 3, 448},
    {DType::f8e5m2, "f8e5m2", 1, true, false, true, 2, 57344},
});

constexpr bool in_enumeration_order() {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].dtype != static_cast<DType>(i)) return false;
  return true;
}
static_assert(in_enumeration_order());

// A binary format: a sign, exponent_bits, mantissa_bits. Without infinities the codes of the
// largest exponent are numbers too, but the last, which is NaN.
struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity = true;
};

// Rounds a double once, to nearest even.
template <Format format, class Bits>
Bits narrow_from_f64(double value) {
  constexpr int mantissa_bits = format.mantissa_bits;
  static_assert(1 + format.exponent_bits + mantissa_bits == 8 * sizeof(Bits));
  constexpr int bias = (1 << (format.exponent_bits - 1)) - 1;
  constexpr int dropped = 52 - mantissa_bits;
  constexpr Bits all_ones = static_cast<Bits>(~Bits{0}) >> 1;
  constexpr Bits too_large =
      format.has_infinity ? all_ones >> mantissa_bits << mantissa_bits : all_ones;
  constexpr Bits nan = too_large | (1 << (mantissa_bits - 1));
  constexpr uint64_t min_normal = static_cast<uint64_t>(1023 + 1 - bias) << 52;

  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const Bits sign = static_cast<Bits>(bits >> 63 << (8 * sizeof(Bits) - 1));
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  if (std::isnan(value)) return sign | nan;
  if (magnitude < min_normal) {
    // A subnormal result is a whole number of steps of 2^(1 - bias - mantissa_bits); adding and
    // subtracting 2^52 rounds to whole numbers. The step count runs over into the smallest normal
    // number by itself.
    constexpr double steps_per_one =
        std::bit_cast<double>(static_cast<uint64_t>(1023 + bias - 1 + mantissa_bits) << 52);
    const double steps = (std::bit_cast<double>(magnitude) * steps_per_one + 0x1p52) - 0x1p52;
    return sign | static_cast<Bits>(steps);
  }
  // A carry out of the mantissa moves into the exponent, which is what rounding up to a power of
  // two means.
  const uint64_t half_minus_one = (uint64_t{1} << (dropped - 1)) - 1;
  const uint64_t rounded = magnitude + half_minus_one + ((magnitude >> dropped) & 1);
  const uint64_t rebased =
      (rounded >> dropped) - (static_cast<uint64_t>(1023 - bias) << mantissa_bits);
  return sign | (rebased >= too_large ? too_large : static_cast<Bits>(rebased));
}

// Truncates and wraps modulo 2^64 (two's complement); NaN and infinities give 0.
uint64_t wrap_f64(double value) {
  if (!std::isfinite(value)) return 0;
  const double whole = std::trunc(value);
  if (whole >= -0x1p63 && whole < 0x1p63) return static_cast<uint64_t>(static_cast<int64_t>(whole));
  const double low = std::fmod(std::fabs(whole), 0x1p64);  // exact, in [0, 2^64)
  const uint64_t bits = static_cast<uint64_t>(low);
  return whole < 0 ? 0 - bits : bits;
}

}  // namespace

const DTypeInfo& info(DType dtype) {
  const size_t index = static_cast<size_t>(dtype);
  TCC_CHECK(index < kDTypes.size(), "dtype ", index);
  return kDTypes[index];
}

std::span<const DTypeInfo> all_dtypes() { return kDTypes; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& candidate : kDTypes)
    if (candidate.name == name) return candidate.dtype;
  return std::nullopt;
}

// PyTorch refuses to mix u16, u32 or u64 with signed integers. Here they give the smallest signed
// type that holds both, and i64 for u64.
DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_f8(a) || is_f8(b))
    fail_input(name(a), " and ", name(b),
               " have no common type: f8 is not promoted; convert with `to` first");
  const DTypeInfo& x = info(a);
  const DTypeInfo& y = info(b);
  if (x.is_float != y.is_float) return x.is_float ? a : b;
  if (x.is_float && x.bytes == y.bytes) return DType::f32;  // f16 with bf16
  if (x.is_float) return x.bytes > y.bytes ? a : b;
  if (!x.is_integer) return b;  // bool with an integer
  if (!y.is_integer) return a;
  if (x.is_signed == y.is_signed) return x.bytes > y.bytes ? a : b;
  const DTypeInfo& with_sign = x.is_signed ? x : y;
  const DTypeInfo& without_sign = x.is_signed ? y : x;
  for (const DTypeInfo& candidate : kDTypes) {
    const bool holds_both =
        candidate.bytes >= with_sign.bytes && candidate.bytes > without_sign.bytes;
    if (candidate.is_integer && candidate.is_signed && holds_both) return candidate.dtype;
  }
  return DType::i64;
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f64: return value;
    case DType::f32: return static_cast<float>(value);
    case DType::f16: return f16_to_f32(f64_to_f16(value));
    case DType::bf16: return bf16_to_f32(f64_to_bf16(value));
    case DType::f8e4m3: return f8e4m3_to_f32(f64_to_f8e4m3(value));
    case DType::f8e5m2: return f8e5m2_to_f32(f64_to_f8e5m2(value));
    case DType::boolean: return value != 0 ? 1 : 0;
    default: break;
  }
  const int64_t wrapped = wrap_to(dtype, static_cast<int64_t>(wrap_f64(value)));
  return dtype == DType::u64 ? static_cast<double>(static_cast<uint64_t>(wrapped))
                             : static_cast<double>(wrapped);
}

int64_t wrap_to(DType dtype, int64_t value) {
  const DTypeInfo& type = info(dtype);
  if (dtype == DType::boolean) return value != 0;
  if (!type.is_integer || type.bytes == 8) return value;
  const int shift = 64 - 8 * type.bytes;
  const uint64_t high = static_cast<uint64_t>(value) << shift;
  return type.is_signed ? static_cast<int64_t>(high) >> shift : static_cast<int64_t>(high >> shift);
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t shifted = static_cast<uint32_t>(bits & 0x7fff) << 13;
  // Normal numbers: add the difference of the biases by a multiplication, which also makes
  // infinities and NaN big enough to be recognised. Subnormal ones: 2^-24 steps, exact in f32.
  const float magnitude = std::bit_cast<float>(shifted) * 0x1p112f;
  uint32_t result = std::bit_cast<uint32_t>(magnitude);
  if ((bits & 0x7c00) == 0x7c00) result = shifted | ((bits & 0x3ff) != 0 ? 0x7fc00000 : 0x7f800000);
  return std::bit_cast<float>(sign | result);
}

uint16_t f32_to_f16(float value) {
  // By M. Dukhan's method (FP16): the first product overflows to infinity what f16 cannot hold;
  // adding a bias with the right exponent makes the FPU drop, and round to nearest even, exactly
  // the bits that f16 lacks.
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t twice = bits << 1;
  const float scaled = (std::fabs(value) * 0x1p112f) * 0x1p-110f;
  uint32_t bias = twice & 0xff000000u;
  bias = bias < 0x71000000u ? 0x71000000u : bias;
  const float rounded = std::bit_cast<float>((bias >> 1) + 0x07800000u) + scaled;
  const uint32_t sum = std::bit_cast<uint32_t>(rounded);
  const uint32_t magnitude = ((sum >> 13) & 0x7c00u) + (sum & 0x0fffu);
  const uint32_t nan = 0x7e00u | (bits >> 13 & 0x3ffu);  // quiet, what fits of the payload stays
  return static_cast<uint16_t>((bits >> 16 & 0x8000u) | (twice > 0xff000000u ? nan : magnitude));
}

uint16_t f64_to_f16(double value) { return narrow_from_f64<Format{5, 10}, uint16_t>(value); }

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f64_to_bf16(double value) { return narrow_from_f64<Format{8, 7}, uint16_t>(value); }

float f8e4m3_to_f32(uint8_t bits) {
  // This works like f16_to_f32: 2^120 is the difference of the biases.
  const uint32_t magnitude = bits & 0x7f;
  const float value = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  const uint32_t result = magnitude == 0x7f ? 0x7fc00000 : std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(static_cast<uint32_t>(bits & 0x80) << 24 | result);
}

uint8_t f64_to_f8e4m3(double value) { return narrow_from_f64<Format{4, 3, false}, uint8_t>(value); }

float f8e5m2_to_f32(uint8_t bits) { return f16_to_f32(static_cast<uint16_t>(bits << 8)); }

uint8_t f64_to_f8e5m2(double value) { return narrow_from_f64<Format{5, 2}, uint8_t>(value); }

}  // namespace tcc
