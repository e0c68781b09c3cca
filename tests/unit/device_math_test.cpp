// The device math library (backends/device/common) as host C++, against libm: once as CUDA sees it
// (fused multiply-add, exact division, reciprocals) and once as the weakest GLSL implementation
// does (neither).
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ir/dtype.h"
#include "tests/unit/near_ties.h"

#if defined(__SSE__)
#include <immintrin.h>
#endif

#define TCC_EXACT_FMA 1
#define TCC_EXACT_DIV 1
// The reciprocal of CUDA's instruction, at its worst: off by an ulp to either side, zero and
// infinity at the ends of the range.
static float worst_reciprocal(float x) {
  const float size = std::abs(x);
  if (!(size >= 0x1p-126f && size <= 0x1p126f))
    return size < 1 ? std::copysign(HUGE_VALF, x) : 1 / x * 0;
  const float r = 1 / x;
  return std::nextafter(r, std::bit_cast<uint32_t>(x) % 2 == 0 ? 0.0f : 2 * r);
}
#define TCC_NATIVE_RCP(x) worst_reciprocal(x)
namespace fused {
#include "backends/device/common/prelude_cpp.inc"

#include "backends/device/common/convert.inc"
#include "backends/device/common/integer.inc"
#include "backends/device/common/math.inc"
#include "backends/device/common/math_f64.inc"
#include "backends/device/common/math_f64_trig.inc"
#include "backends/device/common/math_trig.inc"
#include "backends/device/common/random.inc"
}  // namespace fused

#undef TCC_NATIVE_RCP
#undef TCC_EXACT_FMA
#undef TCC_EXACT_DIV
#define TCC_EXACT_FMA 0
#define TCC_EXACT_DIV 0
namespace unfused {
#include "backends/device/common/prelude_cpp.inc"

#include "backends/device/common/convert.inc"
#include "backends/device/common/integer.inc"
#include "backends/device/common/math.inc"
#include "backends/device/common/math_f64.inc"
#include "backends/device/common/math_f64_trig.inc"
#include "backends/device/common/math_trig.inc"
#include "backends/device/common/random.inc"
}  // namespace unfused

namespace tcc {
namespace {

namespace fs = std::filesystem;
using Big = long double;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
T from_bits(uint64_t bits) {
  return std::bit_cast<T>(static_cast<Bits<T>>(bits));
}

constexpr double wrong = 1e30;

// Distance of `got` from `want` in units of the last place of `want` as a T; a zero must have the
// right sign, and a result beyond the largest T is infinite or (then one ulp off) the largest T.
template <class T, class Wide>
double ulps(T got, Wide want) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  const T rounded = static_cast<T>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    const Wide finite = std::isinf(rounded) ? static_cast<Wide>(got) : want;
    return std::signbit(got) == std::signbit(rounded) &&
                   std::abs(finite) >= Limits::max() * (1 - 4 * Wide{Limits::epsilon()})
               ? 1
               : wrong;
  }
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : wrong;
  int exponent;
  std::frexp(std::abs(want), &exponent);
  exponent = std::max(exponent, Limits::min_exponent);
  return static_cast<double>(std::abs(static_cast<Wide>(got) - want) /
                             std::ldexp(Wide{1}, exponent - Limits::digits));
}

// 2^-150, 1, the largest number, infinity, NaN, ... with both signs.
template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (T x : {T{0}, Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(),
              Limits::quiet_NaN(), T{0.5}, T{1}, T{1.5}, T{2}, T{3}, T{1e9}, T{1e9} + 1,
              std::nextafter(T{1}, T{0}), std::nextafter(T{1}, T{2}), Limits::min() / 2, T{0x1p-30},
              std::ldexp(T{1}, Limits::digits), std::ldexp(T{1}, Limits::digits - 1) + 1}) {
    values.push_back(x);
    values.push_back(-x);
  }
  return values;
}

// `count` arguments: bit patterns from all over the type, numbers of moderate size and of [lo, hi],
// and the special values.
template <class T>
std::vector<T> arguments(size_t count, double lo, double hi) {
  std::mt19937_64 random(20240607);
  std::vector<T> result = special_values<T>();
  constexpr int digits = std::numeric_limits<T>::digits - 1,
                bias = std::numeric_limits<T>::max_exponent - 1;
  while (result.size() < count) {
    const uint64_t a = random();
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    result.push_back(from_bits<T>(a >> (64 - 8 * sizeof(T))));
    result.push_back(static_cast<T>(lo + (hi - lo) * unit));
    result.push_back(static_cast<T>(lo + (hi - lo) * unit * unit));
    const uint64_t exponent = static_cast<uint64_t>(bias) - 30 + (a >> 8) % 50;
    const uint64_t sign = (a & 1) << (8 * sizeof(T) - 1);
    result.push_back(from_bits<T>(sign | exponent << digits | (a >> (65 - digits))));
  }
  return result;
}

template <class T, class Wide>
struct Unary {
  const char* name;
  T (*fused)(T);
  T (*unfused)(T);
  Wide (*exact)(Wide);
  double lo, hi;  // where most of the arguments lie
  double bound;   // ulp
  double unfused_bound;
};

template <class T>
struct Worst {
  double error = -1;
  T at{}, at2{}, got{};
  void see(double e, T x, T y, T result) {
    if (e > error) *this = {e, x, y, result};
  }
};

template <class T>
std::ostream& operator<<(std::ostream& out, const Worst<T>& w) {
  return out << std::hexfloat << "f(" << w.at << ", " << w.at2 << ") = " << w.got
             << std::defaultfloat << ": " << w.error << " ulp";
}

template <class T, class Wide>
void check(const Unary<T, Wide>& f, size_t count) {
  Worst<T> fused, unfused;
  for (T x : arguments<T>(count, f.lo, f.hi)) {
    const Wide want = f.exact(static_cast<Wide>(x));
    const T a = f.fused(x), b = f.unfused(x);
    fused.see(ulps(a, want), x, x, a);
    unfused.see(ulps(b, want), x, x, b);
  }
  EXPECT_LE(fused.error, f.bound) << f.name << ", fused: " << fused;
  EXPECT_LE(unfused.error, f.unfused_bound) << f.name << ", unfused: " << unfused;
}

template <class W>
W sigmoid(W x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class W>
W normal_cdf(W x) {
  return std::erfc(-x / std::sqrt(W{2})) / 2;
}
template <class W>
W rsqrt(W x) {
  return 1 / std::sqrt(x);
}

#define TCC_UNARY(type, wide, fn, exact, ...)                                                     \
  Unary<type, wide> {                                                                             \
#fn, fused::tcc_##fn, unfused::tcc_##fn, [](wide x) -> wide { return exact(x); }, __VA_ARGS__ \
  }

// The bounds that the sections state: first as CUDA and then without fused multiply-add.
const Unary<float, double> f32_functions[] = {
    TCC_UNARY(float, double, exp_f32, std::exp, -104, 89, 1.1, 1.1),
    TCC_UNARY(float, double, exp2_f32, std::exp2, -150, 128, 1.1, 1.1),
    TCC_UNARY(float, double, expm1_f32, std::expm1, -18, 89, 1.5, 1.5),
    TCC_UNARY(float, double, log_f32, std::log, 0, 4, 1, 1),
    TCC_UNARY(float, double, log2_f32, std::log2, 0, 4, 1.4, 1.7),
    TCC_UNARY(float, double, log10_f32, std::log10, 0, 4, 1.3, 1.3),
    TCC_UNARY(float, double, log1p_f32, std::log1p, -1, 4, 1.6, 1.8),
    TCC_UNARY(float, double, sin_f32, std::sin, -300, 300, 1.3, 1.6),
    TCC_UNARY(float, double, cos_f32, std::cos, -300, 300, 1.3, 1.6),
    TCC_UNARY(float, double, tan_f32, std::tan, -300, 300, 2, 2),
    TCC_UNARY(float, double, asin_f32, std::asin, -1, 1, 1.8, 2.1),
    TCC_UNARY(float, double, acos_f32, std::acos, -1, 1, 1.1, 1.4),
    TCC_UNARY(float, double, atan_f32, std::atan, -5, 5, 1.5, 1.7),
    TCC_UNARY(float, double, sinh_f32, std::sinh, -90, 90, 1.7, 1.7),
    TCC_UNARY(float, double, cosh_f32, std::cosh, -90, 90, 1.5, 1.5),
    TCC_UNARY(float, double, tanh_f32, std::tanh, -10, 10, 1.5, 1.5),
    TCC_UNARY(float, double, asinh_f32, std::asinh, -5, 5, 1.8, 1.8),
    TCC_UNARY(float, double, acosh_f32, std::acosh, 1, 4, 2, 2.5),
    TCC_UNARY(float, double, atanh_f32, std::atanh, -1, 1, 1.2, 1.2),
    TCC_UNARY(float, double, erf_f32, std::erf, -4, 4, 1.1, 1.3),
    TCC_UNARY(float, double, erfc_f32, std::erfc, -4, 10.2, 3.5, 4),
    TCC_UNARY(float, double, sqrt_f32, std::sqrt, 0, 2, 0.5, 0.5),
    TCC_UNARY(float, double, rsqrt_f32, rsqrt, 0, 2, 2, 2),
    TCC_UNARY(float, double, sigmoid_f32, sigmoid, -20, 20, 2, 2.5),
    TCC_UNARY(float, double, floor_f32, std::floor, -9, 9, 0, 0),
    TCC_UNARY(float, double, ceil_f32, std::ceil, -9, 9, 0, 0),
    TCC_UNARY(float, double, trunc_f32, std::trunc, -9, 9, 0, 0),
    TCC_UNARY(float, double, round_f32, std::nearbyint, -9, 9, 0, 0),
    TCC_UNARY(float, double, abs_f32, std::abs, -9, 9, 0, 0),
};

const Unary<double, Big> f64_functions[] = {
    TCC_UNARY(double, Big, exp_f64, std::exp, -746, 710, 1.1, 1.1),
    TCC_UNARY(double, Big, exp2_f64, std::exp2, -1075, 1024, 1.1, 1.1),
    TCC_UNARY(double, Big, expm1_f64, std::expm1, -40, 710, 2, 2),
    TCC_UNARY(double, Big, log_f64, std::log, 0, 4, 1, 1),
    TCC_UNARY(double, Big, log2_f64, std::log2, 0, 4, 2, 2),
    TCC_UNARY(double, Big, log10_f64, std::log10, 0, 4, 2, 2),
    TCC_UNARY(double, Big, log1p_f64, std::log1p, -1, 4, 1.5, 1.5),
    TCC_UNARY(double, Big, sin_f64, std::sin, -2e6, 2e6, 1.3, 1.6),
    TCC_UNARY(double, Big, cos_f64, std::cos, -2e6, 2e6, 1.3, 1.6),
    TCC_UNARY(double, Big, tan_f64, std::tan, -2e6, 2e6, 3, 3),
    TCC_UNARY(double, Big, asin_f64, std::asin, -1, 1, 2.3, 2.5),
    TCC_UNARY(double, Big, acos_f64, std::acos, -1, 1, 1.1, 1.4),
    TCC_UNARY(double, Big, atan_f64, std::atan, -5, 5, 2, 2),
    TCC_UNARY(double, Big, sinh_f64, std::sinh, -711, 711, 1.7, 1.7),
    TCC_UNARY(double, Big, cosh_f64, std::cosh, -711, 711, 1.5, 1.5),
    TCC_UNARY(double, Big, tanh_f64, std::tanh, -20, 20, 3, 3),
    TCC_UNARY(double, Big, asinh_f64, std::asinh, -5, 5, 2, 2),
    TCC_UNARY(double, Big, acosh_f64, std::acosh, 1, 4, 2.5, 2.5),
    TCC_UNARY(double, Big, atanh_f64, std::atanh, -1, 1, 2.5, 2.5),
    TCC_UNARY(double, Big, erf_f64, std::erf, -6, 6, 1.3, 1.3),
    TCC_UNARY(double, Big, erfc_f64, std::erfc, -6, 27.3, 3.5, 4),
    TCC_UNARY(double, Big, sqrt_f64, std::sqrt, 0, 2, 0.501,
              0.501),  // the reference is rounded, too
    TCC_UNARY(double, Big, rsqrt_f64, rsqrt, 0, 2, 2, 2),
    TCC_UNARY(double, Big, sigmoid_f64, sigmoid, -40, 40, 2, 2.5),
    TCC_UNARY(double, Big, floor_f64, std::floor, -9, 9, 0, 0),
    TCC_UNARY(double, Big, ceil_f64, std::ceil, -9, 9, 0, 0),
    TCC_UNARY(double, Big, trunc_f64, std::trunc, -9, 9, 0, 0),
    TCC_UNARY(double, Big, round_f64, std::nearbyint, -9, 9, 0, 0),
    TCC_UNARY(double, Big, abs_f64, std::abs, -9, 9, 0, 0),
};

TEST(DeviceMath, F32FunctionsOfOneArgument) {
  for (const auto& f : f32_functions) check(f, 1000000);
}

TEST(DeviceMath, F64FunctionsOfOneArgument) {
  if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double is no better than f64";
  for (const auto& f : f64_functions) check(f, 60000);
}

// Its bound depends on the argument.
TEST(DeviceMath, NormalCdf) {
  for (float x = -15; x < 9; x += 1e-4F) {
    const double want = normal_cdf(double{x});
    const double relative = x >= 0 ? 1 : x < -4 ? 0.3 : x < -2 ? 5e-4 : 2e-6;
    const double bound = std::min(1.5e-7, relative * want) + FLT_MIN;
    EXPECT_NEAR(fused::tcc_normal_cdf_f32(x), want, bound) << x;
    EXPECT_NEAR(unfused::tcc_normal_cdf_f32(x), want, bound) << x;
    const double bound64 = (4 + 2 * x * x) * DBL_EPSILON * want;
    EXPECT_NEAR(fused::tcc_normal_cdf_f64(x), want, bound64) << x;
    EXPECT_NEAR(unfused::tcc_normal_cdf_f64(x), want, bound64) << x;
  }
  EXPECT_EQ(fused::tcc_normal_cdf_f32(-INFINITY), 0);
  EXPECT_EQ(fused::tcc_normal_cdf_f32(INFINITY), 1);
  EXPECT_TRUE(std::isnan(fused::tcc_normal_cdf_f32(NAN)));
}

// A device may take subnormal arguments for zero and return zero for them; nothing else may suffer.
TEST(DeviceMath, F32WithoutSubnormals) {
#if defined(__SSE__)
  for (const auto& f : f32_functions) {
    const std::vector<float> x = arguments<float>(200000, f.lo, f.hi);
    std::vector<float> got(x.size());
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040);  // flush results, read arguments as zero
    for (size_t i = 0; i < x.size(); ++i) got[i] = f.unfused(x[i]);
    _mm_setcsr(mode);
    Worst<float> worst;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = f.exact(x[i]);
      const bool tiny = std::abs(x[i]) < FLT_MIN || std::abs(want) < FLT_MIN * 1.000001;
      if (got[i] == 0 && tiny) continue;
      const bool step = f.bound == 0 && std::abs(x[i]) < FLT_MIN;  // floor, ceil, ...
      if (!step) worst.see(ulps(got[i], want), x[i], x[i], got[i]);
    }
    EXPECT_LE(worst.error, f.unfused_bound) << f.name << ": " << worst;
  }
#else
  GTEST_SKIP() << "no way to flush subnormals here";
#endif
}

template <class T, class Wide>
struct Binary {
  const char* name;
  T (*fused)(T, T);
  T (*unfused)(T, T);
  Wide (*exact)(Wide, Wide);
  double bound, unfused_bound;
};

// All pairs of special values, bit patterns, and pairs of moderate size.
template <class T, class Wide>
void check(const Binary<T, Wide>& f, size_t count) {
  Worst<T> fused, unfused;
  const auto see = [&](T x, T y) {
    const Wide want = f.exact(x, y);
    const T a = f.fused(x, y), b = f.unfused(x, y);
    fused.see(ulps(a, want), x, y, a);
    unfused.see(ulps(b, want), x, y, b);
  };
  for (T x : special_values<T>())
    for (T y : special_values<T>()) see(x, y);
  const std::vector<T> x = arguments<T>(count, -8, 8);
  for (size_t i = 0; i < x.size(); ++i) see(x[i], x[x.size() - 1 - i]);
  for (size_t i = 0; i + 1 < x.size(); ++i) see(x[i], x[i + 1]);
  EXPECT_LE(fused.error, f.bound) << f.name << ", fused: " << fused;
  EXPECT_LE(unfused.error, f.unfused_bound) << f.name << ", unfused: " << unfused;
}

template <class T>
T torch_remainder(T a, T b) {
  const T r = std::fmod(a, b);
  return r != 0 && std::signbit(r) != std::signbit(b) ? r + b : r;
}
template <class T>
T torch_floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T r = std::fmod(a, b);
  T q = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) q -= 1;
  if (q == 0) return std::copysign(T{0}, a / b);
  const T floor = std::floor(q);
  return q - floor > T{0.5} ? floor + 1 : floor;
}
template <class T>
T torch_minimum(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : b < a ? b : a;
}
template <class T>
T torch_maximum(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : b > a ? b : a;
}

#define TCC_BINARY(type, wide, fn, narrow, exact, ...)                                           \
  Binary<type, wide> {                                                                           \
#fn, fused::tcc_##fn, unfused::tcc_##fn,                                                     \
        [](wide x, wide y)                                                                       \
             -> wide { return exact(static_cast<narrow>(x), static_cast<narrow>(y)); },          \
                                                                                     __VA_ARGS__ \
  }

double quotient(double a, double b) { return a / b; }
Big quotient(Big a, Big b) { return a / b; }

TEST(DeviceMath, F32FunctionsOfTwoArguments) {
  const Binary<float, double> functions[] = {
      TCC_BINARY(float, double, pow_f32, double, std::pow, 1.6, 2),
      TCC_BINARY(float, double, atan2_f32, double, std::atan2, 1.6, 2),
      TCC_BINARY(float, double, div_f32, double, quotient, 0.5, 0.5),
      TCC_BINARY(float, double, fmod_f32, float, std::fmod, 0, 0),
      TCC_BINARY(float, double, remainder_f32, float, torch_remainder, 0, 0),
      TCC_BINARY(float, double, floordiv_f32, float, torch_floor_divide, 0, 0),
      TCC_BINARY(float, double, copysign_f32, float, std::copysign, 0, 0),
  };
  for (const auto& f : functions) check(f, 200000);
}

TEST(DeviceMath, F64FunctionsOfTwoArguments) {
  if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double is no better than f64";
  const Binary<double, Big> functions[] = {
      TCC_BINARY(double, Big, pow_f64, Big, std::pow, 1.2, 1.5),
      TCC_BINARY(double, Big, atan2_f64, Big, std::atan2, 2.5, 3),
      TCC_BINARY(double, Big, div_f64, Big, quotient, 0.501, 0.501),
      TCC_BINARY(double, Big, fmod_f64, double, std::fmod, 0, 0),
      TCC_BINARY(double, Big, remainder_f64, double, torch_remainder, 0, 0),
      TCC_BINARY(double, Big, floordiv_f64, double, torch_floor_divide, 0, 0),
      TCC_BINARY(double, Big, copysign_f64, double, std::copysign, 0, 0),
  };
  for (const auto& f : functions) check(f, 30000);
}

template <class T>
void check_floor_quotients(T (*fused)(T, T), T (*unfused)(T, T), int limit) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; ++i) {
    const T b =
        std::ldexp(static_cast<T>(random() >> 40) + 1, static_cast<int>(random() % 20) - 30);
    T quotient = std::ldexp(static_cast<T>(random() >> 11), static_cast<int>(i % (limit + 6)) - 53);
    if (i & 1) quotient = std::floor(quotient);  // near a whole number, either side
    const T a = (random() & 1 ? -quotient : quotient) * b, want = torch_floor_divide(a, b);
    ASSERT_EQ(fused(a, b), want) << std::hexfloat << a << " " << b;
    ASSERT_EQ(unfused(a, b), want) << std::hexfloat << a << " " << b;
  }
}

// All numbers, zeros with their signs, infinities and NaN. Halfway between subnormals, either will
// do.
TEST(DeviceMath, DivisionByANumber) {
  std::mt19937 random(7);
  const float ends[] = {0.0f, -0.0f, HUGE_VALF, -HUGE_VALF, FLT_MAX, -FLT_MIN, NAN};
  for (const float c : {6.0f, 3.0f, -7.0f, 0.1f, 768.0f, 0x1.fffffep-1f, 0x1p20f - 1, 0x1.2p-20f}) {
    const auto expect = [&](float a) {
      const float want = a / c, got = fused::tcc_div_number_f32(a, c, 1.0f / c);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << a << " / " << c;
      } else if (std::abs(static_cast<double>(a) / c - want) == 0x1p-150) {
        EXPECT_NEAR(got, want, 0x1p-149) << a << " / " << c;
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << a << " / " << c;
      }
    };
    for (const float a : ends) expect(a);
    for (int i = 0; i < 200000; ++i) expect(std::bit_cast<float>(static_cast<uint32_t>(random())));
    for (uint32_t m = 0; m < 1u << 23; m += 37) {
      expect(std::bit_cast<float>(0x3f800000u | m));
      for (const float scale : {0x1p-149f, 0x1p-126f, 0x1p-100f})  // subnormal quotients of some c
        expect(static_cast<float>(m) * scale);
    }
  }
}

TEST(DeviceMath, FloorDivision) {
  check_floor_quotients<float>(fused::tcc_floordiv_f32, unfused::tcc_floordiv_f32, 22);
  check_floor_quotients<double>(fused::tcc_floordiv_f64, unfused::tcc_floordiv_f64, 51);
}

// Results near overflow, underflow and 1, which random pairs rarely meet.
TEST(DeviceMath, PowOverItsWholeRange) {
  std::mt19937_64 random(1);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Worst<float> f32, f32_unfused;
  Worst<double> f64, f64_unfused;
  for (int i = 0; i < 200000; ++i) {
    double x = std::exp2((unit() - 0.5) * std::exp2(8 - 30 * unit()));
    const auto xf = static_cast<float>(x);
    const auto yf = static_cast<float>((unit() * 278 - 150) / std::log2(static_cast<double>(xf)));
    if (xf != 1) {
      const double want = std::pow(static_cast<double>(xf), static_cast<double>(yf));
      const float a = fused::tcc_pow_f32(xf, yf), b = unfused::tcc_pow_f32(xf, yf);
      f32.see(ulps(a, want), xf, yf, a);
      f32_unfused.see(ulps(b, want), xf, yf, b);
    }
    if (i % 4 || LDBL_MANT_DIG < 64 || x == 1) continue;
    const double y = (unit() * 2098 - 1074) / std::log2(x);
    const Big want = std::pow(static_cast<Big>(x), static_cast<Big>(y));
    const double a = fused::tcc_pow_f64(x, y), b = unfused::tcc_pow_f64(x, y);
    f64.see(ulps(a, want), x, y, a);
    f64_unfused.see(ulps(b, want), x, y, b);
  }
  EXPECT_LE(f32.error, 1.6) << f32;
  EXPECT_LE(f32_unfused.error, 2) << f32_unfused;
  EXPECT_LE(f64.error, 1.2) << f64;
  EXPECT_LE(f64_unfused.error, 1.5) << f64_unfused;
}

// NaN if either argument is; of two zeros either one.
template <class T>
void check_extremum(T (*got)(T, T), T (*want)(T, T)) {
  const std::vector<T> x = arguments<T>(20000, -8, 8);
  const auto see = [&](T a, T b) {
    const T r = got(a, b), w = want(a, b);
    EXPECT_TRUE(std::isnan(w) ? std::isnan(r) : r == w) << a << " " << b << " gives " << r;
  };
  for (T a : special_values<T>())
    for (T b : special_values<T>()) see(a, b);
  for (size_t i = 0; i + 1 < x.size(); ++i) see(x[i], x[i + 1]);
}

TEST(DeviceMath, MinimumAndMaximum) {
  check_extremum<float>(fused::tcc_min_f32, torch_minimum);
  check_extremum<float>(fused::tcc_max_f32, torch_maximum);
  check_extremum<double>(fused::tcc_min_f64, torch_minimum);
  check_extremum<double>(fused::tcc_max_f64, torch_maximum);
}

TEST(DeviceMath, MaximumOfNumbers) {
  const std::vector<float> x = special_values<float>();
  for (float a : x)
    for (float b : x) {
      const float r = fused::tcc_max_number_f32(a, b);
      const bool numbers = !std::isnan(a) && !std::isnan(b);
      EXPECT_TRUE(numbers ? r == std::max(a, b) : std::isnan(r) || r == a || r == b)
          << a << " " << b << " gives " << r;
    }
}

template <class T>
void check_predicates(bool (*isnan)(T), bool (*isinf)(T), bool (*isfinite)(T), T (*sign)(T)) {
  for (T x : arguments<T>(1000, -2, 2)) {
    EXPECT_EQ(isnan(x), std::isnan(x)) << x;
    EXPECT_EQ(isinf(x), std::isinf(x)) << x;
    EXPECT_EQ(isfinite(x), std::isfinite(x)) << x;
    EXPECT_EQ(sign(x), static_cast<T>((x > 0) - (x < 0))) << x;
  }
}

TEST(DeviceMath, PredicatesAndSign) {
  using namespace fused;
  check_predicates<float>(tcc_isnan_f32, tcc_isinf_f32, tcc_isfinite_f32, tcc_sign_f32);
  check_predicates<double>(tcc_isnan_f64, tcc_isinf_f64, tcc_isfinite_f64, tcc_sign_f64);
}

TEST(DeviceMath, SixteenBitFloatsToF32) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float a = fused::tcc_f16_to_f32(h), b = f16_to_f32(static_cast<uint16_t>(h));
    ASSERT_TRUE(std::isnan(a) ? std::isnan(b)
                              : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b))
        << h;
    const float c = fused::tcc_bf16_to_f32(h), d = bf16_to_f32(static_cast<uint16_t>(h));
    ASSERT_TRUE(std::isnan(c) ? std::isnan(d)
                              : std::bit_cast<uint32_t>(c) == std::bit_cast<uint32_t>(d))
        << h;
  }
}

bool same_f16(uint32_t a, uint16_t b) {
  return (a & 0x7fff) > 0x7c00 ? (b & 0x7fff) > 0x7c00 : a == b;
}
bool same_bf16(uint32_t a, uint16_t b) {
  return (a & 0x7fff) > 0x7f80 ? (b & 0x7fff) > 0x7f80 : a == b;
}

void check_rounding(double x) {
  const auto f = static_cast<float>(x);
  ASSERT_TRUE(same_f16(fused::tcc_f32_to_f16(f), f32_to_f16(f))) << std::hexfloat << f;
  ASSERT_TRUE(same_bf16(fused::tcc_f32_to_bf16(f), f64_to_bf16(f))) << std::hexfloat << f;
  ASSERT_EQ(fused::tcc_pack_f16(f, 1.5f), fused::tcc_f32_to_f16(f) | 0x3e000000u);
  ASSERT_EQ(fused::tcc_pack_bf16(1.5f, f), fused::tcc_f32_to_bf16(f) << 16 | 0x3fc0u);
  ASSERT_TRUE(same_f16(fused::tcc_f64_to_f16(x), f64_to_f16(x))) << std::hexfloat << x;
  ASSERT_TRUE(same_bf16(fused::tcc_f64_to_bf16(x), f64_to_bf16(x))) << std::hexfloat << x;
}

TEST(DeviceMath, RoundingToSixteenBits) {
  // Every 16-bit number, every middle between two, and what lies just beside them.
  for (uint32_t h = 0; h < 0x10000; ++h) {
    for (const auto& [here, next] :
         {std::pair{f16_to_f32(static_cast<uint16_t>(h)), f16_to_f32(static_cast<uint16_t>(h + 1))},
          std::pair{bf16_to_f32(static_cast<uint16_t>(h)),
                    bf16_to_f32(static_cast<uint16_t>(h + 1))}}) {
      for (double x : test::near_tie(here, next)) {
        check_rounding(x);
        if (HasFatalFailure()) return;
      }
    }
  }
  for (double x : arguments<double>(100000, -70000, 70000)) {
    check_rounding(x);
    if (HasFatalFailure()) return;
  }
  for (float x : arguments<float>(400000, -0x1p-13, 0x1p-13)) {
    check_rounding(x);
    if (HasFatalFailure()) return;
  }
}

// Towards zero, clamped; NaN gives 0.
template <class To, class From>
To saturated(From x) {
  if (std::isnan(x)) return 0;
  const Big whole = std::trunc(static_cast<Big>(x));
  if (whole <= static_cast<Big>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (whole >= static_cast<Big>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(whole);
}

TEST(DeviceMath, FloatsToIntegers) {
  std::vector<double> values = arguments<double>(20000, -3e9, 3e9);
  for (int bits : {7, 8, 15, 16, 31, 32, 63, 64})
    for (double limit : {std::ldexp(1, bits), -std::ldexp(1, bits)})
      for (double x :
           {limit - 1, limit - 0.5, limit, limit + 0.5, limit + 1, std::nextafter(limit, 0.0)}) {
        values.push_back(x);
        values.push_back(static_cast<float>(x));
      }
  for (double x : values) {
    ASSERT_EQ(fused::tcc_f64_to_i8(x), saturated<int8_t>(x)) << x;
    ASSERT_EQ(fused::tcc_f64_to_i16(x), saturated<int16_t>(x)) << x;
    ASSERT_EQ(fused::tcc_f64_to_i32(x), saturated<int32_t>(x)) << x;
    ASSERT_EQ(fused::tcc_f64_to_i64(x), saturated<int64_t>(x)) << x;
    ASSERT_EQ(fused::tcc_f64_to_u8(x), saturated<uint8_t>(x)) << x;
    ASSERT_EQ(fused::tcc_f64_to_u16(x), saturated<uint16_t>(x)) << x;
    ASSERT_EQ(fused::tcc_f64_to_u32(x), saturated<uint32_t>(x)) << x;
    ASSERT_EQ(fused::tcc_f64_to_u64(x), saturated<uint64_t>(x)) << x;
    const auto f = static_cast<float>(x);
    ASSERT_EQ(fused::tcc_f32_to_i8(f), saturated<int8_t>(f)) << f;
    ASSERT_EQ(fused::tcc_f32_to_i16(f), saturated<int16_t>(f)) << f;
    ASSERT_EQ(fused::tcc_f32_to_i32(f), saturated<int32_t>(f)) << f;
    ASSERT_EQ(fused::tcc_f32_to_i64(f), saturated<int64_t>(f)) << f;
    ASSERT_EQ(fused::tcc_f32_to_u8(f), saturated<uint8_t>(f)) << f;
    ASSERT_EQ(fused::tcc_f32_to_u16(f), saturated<uint16_t>(f)) << f;
    ASSERT_EQ(fused::tcc_f32_to_u32(f), saturated<uint32_t>(f)) << f;
    ASSERT_EQ(fused::tcc_f32_to_u64(f), saturated<uint64_t>(f)) << f;
  }
}

// Integer functions against 128-bit arithmetic, wrapped to T.
template <class T>
struct IntegerFunctions {
  T (*truncdiv)(T, T);
  T (*fmod)(T, T);
  T (*floordiv)(T, T);
  T (*mod)(T, T);
  T (*pow)(T, T);
  T (*shl)(T, T);
  T (*shr)(T, T);
};

template <class T>
T wrapped_power(T a, T n) {
  if (n < 0) return a == 1 ? 1 : a == static_cast<T>(-1) ? (n % 2 ? a : 1) : 0;
  std::make_unsigned_t<T> result = 1, base = static_cast<std::make_unsigned_t<T>>(a);
  for (auto e = static_cast<std::make_unsigned_t<T>>(n); e; e >>= 1, base *= base)
    if (e & 1) result *= base;
  return static_cast<T>(result);
}

template <class T>
void check_integers(const IntegerFunctions<T>& f) {
  using Wide = __int128;
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (int i = -9; i <= 70; ++i) values.push_back(static_cast<T>(i));
  for (int i = 0; i < 4; ++i) {
    values.push_back(static_cast<T>(Limits::max() - static_cast<T>(i)));
    values.push_back(static_cast<T>(Limits::min() + static_cast<T>(i)));
    values.push_back(static_cast<T>(T{1} << (8 * sizeof(T) - 2 - static_cast<size_t>(i))));
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 40; ++i) values.push_back(static_cast<T>(random() >> (random() % 60)));
  constexpr int bits = 8 * sizeof(T);
  for (T a : values) {
    for (T b : values) {
      const Wide x = a, y = b, q = b ? x / y : 0, r = x - q * y;
      const bool other_side = b != 0 && r != 0 && (r < 0) != (y < 0);
      ASSERT_EQ(f.truncdiv(a, b), static_cast<T>(q)) << a << " " << b;
      ASSERT_EQ(f.fmod(a, b), static_cast<T>(r)) << a << " " << b;
      ASSERT_EQ(f.floordiv(a, b), static_cast<T>(q - other_side)) << a << " " << b;
      ASSERT_EQ(f.mod(a, b), static_cast<T>(other_side ? r + y : r)) << a << " " << b;
      ASSERT_EQ(f.pow(a, b), wrapped_power(a, b)) << a << " " << b;
      const bool fits = y >= 0 && y < bits;
      ASSERT_EQ(f.shl(a, b), fits ? static_cast<T>(x << static_cast<int>(b)) : T{0})
          << a << " " << b;
      ASSERT_EQ(f.shr(a, b), static_cast<T>(fits    ? x >> static_cast<int>(b)
                                            : a < 0 ? -1
                                                    : 0))
          << a << " " << b;
    }
  }
}

#define TCC_INTEGERS(type)                                                                         \
  {                                                                                                \
    fused::tcc_truncdiv_##type, fused::tcc_fmod_##type, fused::tcc_floordiv_##type,                \
        fused::tcc_mod_##type, fused::tcc_pow_##type, fused::tcc_shl_##type, fused::tcc_shr_##type \
  }

TEST(DeviceMath, Integers) {
  check_integers<fused::i32>(TCC_INTEGERS(i32));
  check_integers<fused::u32>(TCC_INTEGERS(u32));
  check_integers<fused::i64>(TCC_INTEGERS(i64));
  check_integers<fused::u64>(TCC_INTEGERS(u64));
}

// Known answers of Random123's philox4x32-10.
TEST(DeviceMath, Philox) {
  const uint32_t ff = 0xffffffff;
  const uint32_t cases[][10] = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {ff, ff, ff, ff, ff, ff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xd16cfe09,
       0x94fdcceb, 0x5001e420, 0x24126ea1},
  };
  for (const auto& c : cases) {
    const auto r = fused::tcc_philox(c[0], c[1], c[2], c[3], c[4], c[5]);
    EXPECT_EQ(r.x, c[6]);
    EXPECT_EQ(r.y, c[7]);
    EXPECT_EQ(r.z, c[8]);
    EXPECT_EQ(r.w, c[9]);
  }
}

TEST(DeviceMath, RandomNumbersOfAnElement) {
  // Element 4k + lane takes one lane of the counter (offset, k).
  const uint64_t index = 0x123456789abcdef2;
  const auto low = static_cast<uint32_t>(index), high = static_cast<uint32_t>(index >> 32);
  const auto v = fused::tcc_philox(1, 2, 3, 4, static_cast<uint32_t>(index / 4),
                                   static_cast<uint32_t>(index / 4 >> 32));
  EXPECT_EQ(fused::tcc_rand_u32(1, 2, 3, 4, low, high), v.z);
  EXPECT_EQ(fused::tcc_rand_u32(1, 2, 3, 4, low + 1, high), v.w);
  EXPECT_EQ(fused::tcc_uniform_f32(1, 2, 3, 4, low, high), static_cast<float>(v.z >> 8) * 0x1p-24f);
  EXPECT_EQ(fused::tcc_uniform_bits_f32(0xffffffff), 1 - 0x1p-24f);

  constexpr int count = 200000;
  double sum = 0, squares = 0, uniform = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto pair = fused::tcc_rand_u32x4(5, 6, 7, 8, i, 0);
    const uint32_t a = i & 2 ? pair.z : pair.x, b = i & 2 ? pair.w : pair.y;
    const float u = static_cast<float>(a) * 0x1p-32f + 0x1p-33f;
    const double radius = std::sqrt(-2 * std::log(static_cast<double>(u))),
                 angle = b * 0x1p-31 * M_PI;
    const float got = fused::tcc_normal_f32(5, 6, 7, 8, i, 0);
    ASSERT_NEAR(got, radius * (i & 1 ? std::sin(angle) : std::cos(angle)), 1e-6 * radius) << i;
    ASSERT_NEAR(unfused::tcc_normal_f32(5, 6, 7, 8, i, 0), got, 1e-6 * radius) << i;
    sum += got;
    squares += got * got;
    uniform += fused::tcc_uniform_f32(5, 6, 7, 8, i, 0);
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(uniform / count, 0.5, 0.004);
  EXPECT_LT(std::abs(fused::tcc_normal_pair_f32(0, 0, false)), 6.77);
  EXPECT_EQ(fused::tcc_normal_pair_f32(0xffffffff, 0, false), 0);
}

}  // namespace
// Without divisions of 64 bits, which some drivers get wrong.
TEST(DeviceMath, DividesWideNumbersByThoseOf32Bits) {
  std::mt19937_64 random(3);
  const auto draw = [&] { return random() >> (random() % 64); };
  for (int i = 0; i < 200000; ++i) {
    const uint64_t a = draw(), b = std::max<uint64_t>(draw(), 1);
    ASSERT_EQ(unfused::tcc_quotient_u64(a, b), a / b) << a << " " << b;
    ASSERT_EQ(unfused::tcc_mod_u64(a, b), a % b) << a << " " << b;
    const auto x = static_cast<int64_t>(a >> 1), y = static_cast<int64_t>((b >> 1) | 1);
    ASSERT_EQ(unfused::tcc_indexdiv_i64(x, y), x / y) << x << " " << y;
    ASSERT_EQ(unfused::tcc_indexmod_i64(x, y), x % y) << x << " " << y;
    ASSERT_EQ(unfused::tcc_truncdiv_i64(-x, y), -x / y) << x << " " << y;
    ASSERT_EQ(unfused::tcc_truncdiv_i64(x, -y), x / -y) << x << " " << y;
  }
  for (const uint64_t a : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, UINT64_MAX - 1, UINT64_MAX})
    for (const uint64_t b : {uint64_t{1}, uint64_t{0xffffffff}, uint64_t{1} << 32, UINT64_MAX})
      EXPECT_EQ(unfused::tcc_quotient_u64(a, b), a / b) << a << " " << b;
  EXPECT_EQ(unfused::tcc_truncdiv_i64(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(unfused::tcc_truncdiv_i64(INT64_MIN, INT64_MIN), 1);
  EXPECT_EQ(unfused::tcc_floordiv_i64(INT64_MIN, INT64_MAX), -2);
}

}  // namespace tcc
