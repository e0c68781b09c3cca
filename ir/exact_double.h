// Attributes that are numbers are doubles, but integers that those would round stay integers.
#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace tcc::ir {

// Returns whether a double is the integer, exactly.
inline bool is_exact_double(int64_t value) {
  const auto number = static_cast<double>(value);
  return number < 0x1p63 && static_cast<int64_t>(number) == value;
}

// Returns whether an integer type has the value.
inline bool is_value_of(DType dtype, int64_t value) {
  return wrap_to(dtype, value) == value && (info(dtype).is_signed || value >= 0);
}

}  // namespace tcc::ir
