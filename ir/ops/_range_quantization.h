// The scale and zero point of 8 bits that a range of numbers asks for.
#pragma once

#include "ir/builder.h"

namespace tcc::ir::ops {

struct RangeQuantization {
  Value* scale;       // of the range's dtype
  Value* zero_point;  // u8 or i8
};
// low <= 0 <= high are of one shape and of a dtype that is computed in.
inline RangeQuantization quantization_of_range(Builder& b, Value* low, Value* high, DType dtype) {
  const auto number = [&](double value) { return b.scalar(low->dtype(), value); };
  Value* range = b.sub(high, low);
  // Zeros alone: any scale will do.
  Value* is_flat = b.op("eq", {range, number(0)});
  Value* scale = b.div(b.op("where", {is_flat, number(1), range}), number(255));
  const double lowest = dtype == DType::u8 ? 0 : -128;
  Value* place = b.sub(number(lowest), b.div(low, scale));
  place = b.op("clamp", {place}, {{"min", lowest}, {"max", lowest + 255}});
  return {scale, b.cast(b.unary("round", place), dtype)};
}

}  // namespace tcc::ir::ops
