// Random choices that are the same with every standard library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace tcc::test {

class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : engine_(seed) {}
  // In [0, count).
  int64_t below(int64_t count) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(count));
  }
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }  // inclusive
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }
  const char* one_of(std::initializer_list<const char*> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tcc::test
