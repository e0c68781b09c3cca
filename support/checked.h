// Overflow-checked size arithmetic: every size that comes from a file goes through these.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tcc {

inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// The product of `dims`, or nothing if a dim is negative or the product overflows.
inline std::optional<int64_t> checked_product(std::span<const int64_t> dims) {
  int64_t result = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    auto next = checked_mul(result, dim);
    if (!next) return std::nullopt;
    result = *next;
  }
  return empty ? 0 : result;
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

}  // namespace tcc
