#include "ir/reference/gemm_f8.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ir/dtype.h"

namespace tcc::ir {
namespace {

std::vector<double> product(F8Sums sums, int64_t m, int64_t n, const std::vector<double>& a,
                            const std::vector<double>& b) {
  const auto k = static_cast<int64_t>(a.size()) / m;
  std::vector<double> c(static_cast<size_t>(m * n));
  gemm_f8(sums, m, n, k, a.data(), k, 1, b.data(), n, 1, c.data(), n);
  return c;
}

double dot(F8Sums sums, const std::vector<double>& a, const std::vector<double>& b) {
  return product(sums, 1, 1, a, b)[0];
}

// A large product, then ones: the matrix unit has no bits for them beside it.
TEST(GemmF8, SmallProductsAreLostBesideLargeSums) {
  std::vector<double> x(256, 1);
  x[0] = 448;
  EXPECT_EQ(dot(F8Sums::exact, x, x), 448 * 448 + 255);
  EXPECT_EQ(dot(F8Sums::promoted, x, x), 448 * 448 + 128);
  EXPECT_EQ(dot(F8Sums::unit, x, x), 448 * 448);
}

// 4097 takes 13 bits, 32769 takes 16.
TEST(GemmF8, SumsAreCutTo14Bits) {
  EXPECT_EQ(dot(F8Sums::unit, {64, 1}, {64, 1}), 4097);
  EXPECT_EQ(dot(F8Sums::unit, {-256, -1}, {128, 1}), -32768);
}

TEST(GemmF8, ErrorsGrowWithLengthUnlessPromoted) {
  constexpr int64_t m = 13, n = 70, k = 4099;
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> a(m * k), b(k * n);
  for (double& x : a) x = round_to(DType::f8e4m3, normal(random));
  for (double& x : b) x = round_to(DType::f8e5m2, normal(random));
  const std::vector<double> exact = product(F8Sums::exact, m, n, a, b);
  auto error = [&](F8Sums sums) {
    const std::vector<double> c = product(sums, m, n, a, b);
    double difference = 0, magnitude = 0;
    for (size_t i = 0; i < c.size(); ++i) {
      difference += (c[i] - exact[i]) * (c[i] - exact[i]);
      magnitude += exact[i] * exact[i];
    }
    return std::sqrt(difference / magnitude);
  };
  EXPECT_LT(error(F8Sums::promoted), 0x1p-12);
  EXPECT_GT(error(F8Sums::promoted), 0x1p-15);
  EXPECT_LT(error(F8Sums::unit), 0x1p-8);
  EXPECT_GT(error(F8Sums::unit), 0x1p-11);
}

TEST(GemmF8, PropagatesNanAndInfinity) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const F8Sums sums : {F8Sums::exact, F8Sums::promoted, F8Sums::unit}) {
    EXPECT_EQ(dot(sums, {inf, 1}, {2, 3}), inf);
    EXPECT_TRUE(std::isnan(dot(sums, {inf, inf}, {1, -1})));
    EXPECT_EQ(dot(sums, {0, 0}, {1, 1}), 0);
  }
}

}  // namespace
}  // namespace tcc::ir
