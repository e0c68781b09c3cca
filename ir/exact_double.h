// Attributes that are numbers are doubles, but integers that those would round stay integers.
#pragma once

#include <cstdint>

namespace tcc::ir {

// Returns whether a double is the integer, exactly.
inline bool is_exact_double(int64_t value) {
  const auto number = static_cast<double>(value);
  return number < 0x1p63 && static_cast<int64_t>(number) == value;
}

}  // namespace tcc::ir
