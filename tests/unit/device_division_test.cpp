// Division and square roots of the device math library as host C++, where neither the device's `/`
// and sqrt nor its fma is exact: correctly rounded all the same, over the whole range.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>

#define TCC_EXACT_FMA 0
#define TCC_EXACT_DIV 0
namespace unfused {
#include "backends/device/common/prelude_cpp.inc"

#include "backends/device/common/convert.inc"
#include "backends/device/common/integer.inc"
#include "backends/device/common/math.inc"
#include "backends/device/common/math_f64.inc"
}  // namespace unfused

namespace tcc {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Two numbers of any exponents, of near ones, or one that makes the quotient subnormal;
// significands of few bits make quotients lie near the middle between two numbers.
template <class T>
std::pair<T, T> division_operands(std::mt19937_64& random) {
  using B = Bits<T>;
  constexpr int digits = std::numeric_limits<T>::digits - 1, width = 8 * sizeof(T);
  const auto any = [&] {
    B bits = static_cast<B>(random());
    if (random() % 4 == 0) bits &= ~((B{1} << (digits - 4)) - 1);
    if (random() % 4 == 0) bits |= (B{1} << (digits - 4)) - 1;
    return bits;
  };
  B a = any(), b = any();
  const B fraction = (B{1} << digits) - 1, one = std::bit_cast<B>(T{1});
  switch (random() % 4) {
    case 0: break;
    case 1:  // both in [1, 2)
      a = one | (a & fraction);
      b = one | (b & fraction);
      break;
    case 2:  // a subnormal quotient
      a &= (B{1} << (digits + 5)) - 1;
      b = one | (b & fraction);
      break;
    default:  // a subnormal operand
      a &= fraction | B{1} << (width - 1);
      b &= (B{1} << (digits + 5)) - 1;
      break;
  }
  return {std::bit_cast<T>(a), std::bit_cast<T>(b)};
}

template <class T>
bool same_number(T a, T b) {
  return std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b) || (std::isnan(a) && std::isnan(b));
}

template <class T>
void check_division(T (*divide)(T, T), T (*root)(T)) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000000; ++i) {
    const auto [a, b] = division_operands<T>(random);
    ASSERT_TRUE(same_number(divide(a, b), a / b))
        << std::hexfloat << a << " / " << b << ": " << divide(a, b) << ", not " << a / b;
    ASSERT_TRUE(same_number(root(a), std::sqrt(a)))
        << std::hexfloat << "sqrt(" << a << "): " << root(a) << ", not " << std::sqrt(a);
  }
}

TEST(DeviceDivision, AndRootsAreCorrectlyRounded) {
  check_division<float>(unfused::tcc_div_f32, unfused::tcc_sqrt_f32);
  check_division<double>(unfused::tcc_div_f64, unfused::tcc_sqrt_f64);
}

}  // namespace
}  // namespace tcc
