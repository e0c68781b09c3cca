// Rounding as seeded noise shows how far right results may differ where sums cancel afterwards.
// --check, the tuner's gate and the fuzzer share it
// (docs/decisions/017-conditioning-in-the-rule.md).
#pragma once

#include <cmath>
#include <cstdint>

#include "ir/dtype.h"
#include "ir/op.h"

namespace tcc::ir {

// A result may differ from the exact one by this many times the RMSE of the noisy one.
inline constexpr double kNoiseShare = 4;
// The largest number of draws; one is enough where it lets a result pass.
inline constexpr uint64_t kNoiseDraws = 4;

// Returns the largest number of values that are combined into one element of the node's results.
double combined_values(const Node& node);

// One rounding, and a sum of `combined` values in any order, may change a result by this: parts of
// an ulp of the result's type and of the type that sums are made in.
double stored_noise(DType dtype);
double sum_noise(DType dtype, double combined);

// Returns number `n` of stream `seed`, uniform in [-1, 1).
inline double noise_draw(uint64_t seed, uint64_t n) {
  uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;  // SplitMix64 (Steele, Lea, Flood, 2014)
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(static_cast<int64_t>(z)) * 0x1p-63;
}

// Returns whether no rounding takes place: the type holds the value.
inline bool is_exact(double value, DType dtype) {
  if (dtype == DType::f64) return value == std::nearbyint(value);
  return dtype == DType::f32 ? static_cast<double>(static_cast<float>(value)) == value
                             : round_to(dtype, value) == value;
}

// Partial sums of integers are exact.
inline bool is_exact_term(double value) { return value == std::nearbyint(value); }

}  // namespace tcc::ir
