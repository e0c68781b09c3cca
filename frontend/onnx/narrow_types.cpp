#include "frontend/onnx/narrow_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

constexpr int32_t kE8M0 = 24;

constexpr std::array kTypes = {
    NarrowType{18, "FLOAT8E4M3FNUZ", 8, DType::f16, 0, 0, 3, -7, 240, true},
    NarrowType{20, "FLOAT8E5M2FNUZ", 8, DType::f16, 0, 0, 2, -15, 57344, true},
    NarrowType{21, "UINT4", 4, DType::u8, 0, 15},
    NarrowType{22, "INT4", 4, DType::i8, -8, 7},
    NarrowType{23, "FLOAT4E2M1", 4, DType::f8e4m3, 0, 0, 1, 0, 6},
    NarrowType{kE8M0, "FLOAT8E8M0", 8, DType::f32},
    NarrowType{25, "UINT2", 2, DType::u8, 0, 3},
    NarrowType{26, "INT2", 2, DType::i8, -2, 1},
    NarrowType{27, "FLOAT6E2M3", 6, DType::f8e4m3, 0, 0, 3, 0, 7.5},
    NarrowType{28, "FLOAT6E3M2", 6, DType::f8e4m3, 0, 0, 2, -2, 28},
};

// These operators let such elements through, as they are (onnx.defs).
constexpr std::string_view kMoving[] = {"Flatten", "Identity",      "Pad",       "Reshape",
                                        "Squeeze", "TensorScatter", "Transpose", "Unsqueeze"};
constexpr std::string_view kConverting[] = {"Cast", "CastLike", "DequantizeLinear",
                                            "If",   "Loop",     "QuantizeLinear",
                                            "Scan", "Shape",    "Size"};

// The power of two below |x|, no less than the type's smallest: a chain of comparisons, which is
// exact on every device.
Value* power_below(OpNode& n, Value* magnitude, const NarrowType& type) {
  Value* power = like(n, magnitude, std::ldexp(1, type.smallest_exponent));
  for (int e = type.smallest_exponent + 1; std::ldexp(1, e) <= type.largest; ++e) {
    Value* limit = like(n, magnitude, std::ldexp(1, e));
    power = n.b.op("where", {n.b.op("ge", {magnitude, limit}), limit, power});
  }
  return power;
}

// The nearest value. Scaling by powers of two is exact. NaN becomes -0 in a type without it, as in
// ONNX's reference.
Value* to_narrow_float(OpNode& n, Value* x, const NarrowType& type) {
  const bool saturate = n.flag("saturate", true) || !type.has_nan;
  x = n.b.cast(x, x->dtype() == DType::f64 ? DType::f64 : DType::f32);
  Value* magnitude = n.b.unary("abs", x);
  Value* step =
      n.b.mul(power_below(n, magnitude, type), like(n, x, std::ldexp(1, -type.mantissa_bits)));
  Value* rounded = n.b.mul(n.b.unary("round", n.b.div(magnitude, step)), step);
  Value* largest = like(n, x, type.largest);
  if (saturate) {
    rounded = n.b.op("minimum", {rounded, largest});
  } else {
    const double none = std::numeric_limits<double>::quiet_NaN();
    rounded = n.b.op("where", {n.b.op("gt", {rounded, largest}), like(n, x, none), rounded});
  }
  Value* result = n.b.op("copysign", {rounded, x});
  if (type.has_nan)  // and no -0
    result = n.b.op("where", {n.b.op("eq", {result, like(n, x, 0)}), like(n, x, 0), result});
  else
    result = n.b.op("where", {n.b.unary("isnan", x), like(n, x, -0.0), result});
  return n.b.cast(result, type.holder);
}

// The power of two next to |x| by round_mode. With `saturate`, what is too large or too small
// becomes the largest or smallest power; else NaN.
Value* to_power_of_two(OpNode& n, Value* x) {
  const std::string mode = n.text("round_mode", "up");
  n.require(mode == "up" || mode == "down" || mode == "nearest",
            "round_mode must be up, down or nearest");
  const bool saturate = n.flag("saturate", true);
  const auto is = [&](const char* op, Value* a, int64_t b) {
    return n.b.op(op, {a, like(n, a, static_cast<double>(b))});
  };
  const auto choose = [&](Value* condition, Value* a, Value* b) {
    return n.b.op("where", {condition, a, b});
  };
  Value* bits = n.b.op("bit_cast", {n.b.cast(x, DType::f32)}, {{"dtype", DType::i32}});
  bits = is("bitwise_and", bits, 0x7fffffff);
  Value *power = is("bitwise_right_shift", bits, 23), *rest = is("bitwise_and", bits, 0x7fffff);
  Value* up = is("gt", rest, mode == "up" ? 0 : mode == "down" ? 0x7fffff : 0x400000);
  if (mode == "nearest")  // a tie goes up, but not from the numbers below the smallest power
    up = n.b.op("logical_or",
                {up, n.b.op("logical_and", {is("eq", rest, 0x400000), is("gt", power, 0)})});
  power = n.b.add(power, n.b.cast(up, DType::i32));
  if (saturate) power = is("minimum", power, 0xfe);
  // 2^-127 is no normal number.
  Value* code = choose(is("eq", power, 0), n.b.scalar(DType::i32, 0x400000),
                       is("bitwise_left_shift", power, 23));
  Value* none = is("gt", bits, 0x7f800000);  // NaN
  if (!saturate)
    none = n.b.op("logical_or",
                  {n.b.op("logical_or", {none, is("ge", power, 0xff)}), is("lt", bits, 0x400000)});
  code = choose(none, n.b.scalar(DType::i32, 0x7fc00000), code);
  return n.b.op("bit_cast", {code}, {{"dtype", DType::f32}});
}

// Returns the value that the bits of an element stand for.
double value_of(const NarrowType& type, uint32_t code) {
  if (type.code == kE8M0)
    return code == 0xff ? std::numeric_limits<double>::quiet_NaN()
                        : std::ldexp(1, static_cast<int>(code) - 127);
  if (type.has_nan && code == 0x80) return std::numeric_limits<double>::quiet_NaN();
  const bool sign = code >> (type.bits - 1) != 0;
  if (type.is_integer())
    return static_cast<double>(code) - (type.low < 0 && sign ? std::ldexp(1, type.bits) : 0);
  const uint32_t magnitude = code & ((1U << (type.bits - 1)) - 1);
  const auto exponent = static_cast<int>(magnitude >> type.mantissa_bits);
  const uint32_t fraction = magnitude & ((1U << type.mantissa_bits) - 1);
  const uint32_t digits = exponent == 0 ? fraction : fraction | 1U << type.mantissa_bits;
  const int unit = std::max(exponent - 1, 0) + type.smallest_exponent - type.mantissa_bits;
  return (sign ? -1 : 1) * std::ldexp(digits, unit);
}

}  // namespace

const NarrowType* narrow_type(int32_t data_type) {
  const auto found = std::ranges::find(kTypes, data_type, &NarrowType::code);
  return found == kTypes.end() ? nullptr : &*found;
}

bool moves_narrow_elements(std::string_view op) {
  return std::ranges::find(kMoving, op) != std::end(kMoving);
}

bool converts_narrow_elements(std::string_view op) {
  return std::ranges::find(kConverting, op) != std::end(kConverting);
}

void unpack(const NarrowType& type, std::string_view bytes, int stride, Tensor& tensor) {
  const auto byte = [&](int64_t at) {
    const auto place = static_cast<size_t>(at);
    return place < bytes.size() ? static_cast<uint8_t>(bytes[place]) : uint32_t{0};
  };
  for (int64_t k = 0; k < tensor.numel(); ++k) {
    const int64_t first = k * stride;
    const uint32_t two = byte(first / 8) | byte(first / 8 + 1) << 8;
    tensor.set(k, value_of(type, two >> (first % 8) & ((1U << type.bits) - 1)));
  }
}

Value* to_narrow(OpNode& n, Value* x, const NarrowType& type) {
  if (type.code == kE8M0) return to_power_of_two(n, x);
  if (!type.is_integer()) return to_narrow_float(n, x, type);
  // Floats go through 32 bits, where they do not saturate yet: the low bits are kept.
  Value* wide = x->dtype() == type.holder ? x : n.b.cast(x, DType::i32);
  wide = n.b.cast(wide, type.holder);
  if (type.low == 0)
    return n.b.op("bitwise_and", {wide, like(n, wide, static_cast<double>(type.high))});
  Value* shift = like(n, wide, 8 - type.bits);
  return n.b.op("bitwise_right_shift", {n.b.op("bitwise_left_shift", {wide, shift}), shift});
}

}  // namespace tcc::onnx
