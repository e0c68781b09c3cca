// How many cases a test takes. It names as many as find what it looks for; most of them take a
// compiler seconds. The default run takes a part of them, a third or less. TCC_TEST_DRAWS=all
// (`./dev test-all`) takes all.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace tcc::test {

inline int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoll(text) : otherwise;
}

inline bool draws_all() {
  const char* text = std::getenv("TCC_TEST_DRAWS");
  return text != nullptr && std::string_view(text) == "all";
}

// Returns how many of `all` random cases are drawn: a third, and at least `least`.
template <std::integral Count>
Count draws(Count all, Count least = 4) {
  return draws_all() ? all : std::min<Count>(all, std::max<Count>(least, all / 3));
}

// The same with a variable that sets the number.
inline int64_t draws(const char* variable, int64_t all) {
  return number_from(variable, draws(all));
}

// Takes the first of listed cases and every n-th after it. Of nested lists it meets every item
// where the number shares no factor with the lengths of the inner ones.
class OneOf {
 public:
  explicit OneOf(int64_t n) : n_(n) {}
  bool takes_next() { return number_++ % n_ == 0 || draws_all(); }

 private:
  int64_t n_, number_ = 0;
};

}  // namespace tcc::test
