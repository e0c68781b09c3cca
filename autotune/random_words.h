// A small seeded generator whose numbers are the same on every machine: SplitMix64 (Steele, Lea,
// Flood, 2014).
#pragma once

#include <cstdint>

namespace tcc::autotune {

class RandomWords {
 public:
  explicit RandomWords(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // Returns a number in [0, n), n > 0; the bias is below n / 2^64.
  uint64_t below(uint64_t n) { return next() % n; }
  // Returns a number in [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }

 private:
  uint64_t state_;
};

}  // namespace tcc::autotune
