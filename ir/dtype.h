// Element types. The list stays open (int4): nothing outside this file may enumerate it
// exhaustively.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tcc {

// f8e4m3 is torch.float8_e4m3fn: no infinities, one NaN. f8e5m2 is the upper half of an f16.
enum class DType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  f8e4m3,
  f8e5m2
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // "f32", "bool": as in YAML, text IR and tuning files
  int bytes;              // of one element in memory
  bool is_float, is_integer, is_signed;
  int mantissa_bits;  // explicit ones, floats only
  double largest;     // finite value, floats only
};

const DTypeInfo& info(DType dtype);
std::span<const DTypeInfo> all_dtypes();
std::optional<DType> parse_dtype(std::string_view name);

inline std::string_view name(DType dtype) { return info(dtype).name; }
inline int size_bytes(DType dtype) { return info(dtype).bytes; }
inline bool is_float(DType dtype) { return info(dtype).is_float; }
inline bool is_integer(DType dtype) { return info(dtype).is_integer; }  // bool is neither
// Returns whether floats of the type are stored, but not computed in.
inline bool is_low_precision(DType d) { return is_float(d) && size_bytes(d) < 4; }
// Returns the dtype that fused computations on `dtype` are done in: f32 for narrower floats, else
// `dtype` itself.
inline DType compute_dtype(DType d) { return is_low_precision(d) ? DType::f32 : d; }
// f8e4m3 and f8e5m2 are moved, converted and multiplied by matrix units, without promotion.
inline bool is_f8(DType d) { return is_float(d) && size_bytes(d) == 1; }
// Returns PyTorch's promotion of two operands. Throws Error(bad_input) for f8 with another type.
DType promote(DType a, DType b);

// Rounds to nearest even into `dtype`'s values (floats), wraps (integers), != 0 (bool).
double round_to(DType dtype, double value);
int64_t wrap_to(DType dtype, int64_t value);

// These convert the bits of narrow floats, rounding to nearest even. NaN stays NaN; a value that is
// too large becomes infinity, in f8e4m3 NaN.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
uint16_t f64_to_f16(double value);
float bf16_to_f32(uint16_t bits);
uint16_t f64_to_bf16(double value);
float f8e4m3_to_f32(uint8_t bits);
uint8_t f64_to_f8e4m3(double value);
float f8e5m2_to_f32(uint8_t bits);
uint8_t f64_to_f8e5m2(double value);

}  // namespace tcc
