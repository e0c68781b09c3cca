// Draws seeded random tensors: weights without a file, and inputs of tools.
//
// An element depends on the seed and on its index alone (Philox4x32-10, a counter-based generator
// by Salmon et al., 2011), and is computed without library functions: it is the same on every
// machine and for every number of threads, and a longer tensor begins with a shorter one's
// elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/tensor.h"

namespace tcc {

// The distribution that the elements of a tensor are drawn from.
struct Init {
  enum class Kind : uint8_t { constant, uniform, normal, integers };

  static Init zeros() { return constant(0); }
  static Init ones() { return constant(1); }
  static Init constant(double value) { return {Kind::constant, value, 0, 0, 0, {}}; }
  // An integer that a double would round; of u64, its bits.
  static Init whole(int64_t value) { return {Kind::constant, 0, 0, 0, 0, value}; }
  // Values in [low, high), of 24 random bits. Rounding to the dtype may reach `high`.
  static Init uniform(double low, double high) { return {Kind::uniform, low, high, 0, 0, {}}; }
  // Values of mean 0 in f32's precision; |value| < 6.7 standard deviations.
  static Init normal(double standard_deviation) {
    return {Kind::normal, standard_deviation, 0, 0, 0, {}};
  }
  // In [low, high).
  static Init integers(int64_t low, int64_t high) { return {Kind::integers, 0, 0, low, high, {}}; }

  Kind kind = Kind::constant;
  double a = 0, b = 0;                 // the value; low and high; the standard deviation
  int64_t int_low = 0, int_high = 0;   // of integers
  std::optional<int64_t> whole_value;  // in the place of a
};

// Draws as f32 (integers as i64), then converts as cast() does. Throws Error(bad_input) for a
// distribution that makes no sense (an empty range, a negative or infinite deviation) or that the
// dtype cannot hold (integers beyond an integer dtype's range).
Tensor random_tensor(DType dtype, std::vector<int64_t> shape, const Init& init, uint64_t seed);

// Returns the seed of the random stream of `name`: each tensor of a graph has a stream of its own.
uint64_t stream_seed(uint64_t seed, std::string_view name);

// The generator returns four random words for a 128-bit counter and a 64-bit key.
struct PhiloxWords {
  uint32_t word[4];
};
PhiloxWords philox(const PhiloxWords& counter, uint64_t key);

}  // namespace tcc
