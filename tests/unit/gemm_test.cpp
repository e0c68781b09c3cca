#include "ir/reference/gemm.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tcc::ir {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Size {
  int64_t m, n, k;
};

// Row-major or transposed, within rows that are `pad` longer than they need be.
struct Matrix {
  std::vector<double> data;
  int64_t row_stride, col_stride;
  Matrix(int64_t rows, int64_t columns, bool transposed, int64_t pad)
      : row_stride(transposed ? 1 : columns + pad), col_stride(transposed ? rows + pad : 1) {
    data.resize(static_cast<size_t>((rows + pad) * (columns + pad)));
  }
  double& at(int64_t i, int64_t j) {
    return data[static_cast<size_t>(i * row_stride + j * col_stride)];
  }
};

void fill(Matrix& matrix, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& x : matrix.data) x = uniform(random);
}

TEST(Gemm, IsRightForAnyShapeAndStride) {
  std::mt19937 random(1);
  const Size sizes[] = {{1, 1, 1},      {3, 5, 7},     {16, 16, 17},  {8, 24, 192},
                        {9, 25, 193},   {128, 96, 3},  {1, 300, 400}, {300, 1, 400},
                        {130, 99, 385}, {5, 3100, 20}, {4100, 6, 5}};
  for (const auto& [m, n, k] : sizes) {
    for (int layout = 0; layout < 4; ++layout) {
      Matrix a(m, k, layout & 1, layout), b(k, n, layout & 2, 1);
      fill(a, random);
      fill(b, random);
      const int64_t ldc = n + 2;
      std::vector<double> c(static_cast<size_t>(m * ldc), 7);
      gemm_f64(m, n, k, a.data.data(), a.row_stride, a.col_stride, b.data.data(), b.row_stride,
               b.col_stride, c.data(), ldc);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; j += 1 + n / 50) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l) sum += a.at(i, l) * b.at(l, j);
          ASSERT_NEAR(c[static_cast<size_t>(i * ldc + j)], sum, 1e-14 * static_cast<double>(k))
              << m << "x" << n << "x" << k << " at " << i << ", " << j;
        }
        ASSERT_EQ(c[static_cast<size_t>(i * ldc + n)], 7) << "beyond a row's end";
      }
    }
  }
}

TEST(Gemm, AnEmptySumIsZero) {
  std::vector<double> c = {1, 2, 3, 4};
  gemm_f64(2, 2, 0, nullptr, 0, 1, nullptr, 2, 1, c.data(), 2);
  EXPECT_EQ(c, std::vector<double>(4, 0));
}

TEST(Gemm, PropagatesNanAndInfinityToTheirRowsAndColumnsOnly) {
  constexpr int64_t n = 50;
  std::vector<double> a(n * n, 1), b(n * n, 1), c(n * n);
  a[3 * n + 5] = nan;
  a[7 * n + 2] = inf;
  b[4 * n + 9] = -inf;
  gemm_f64(n, n, n, a.data(), n, 1, b.data(), n, 1, c.data(), n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const double value = c[static_cast<size_t>(i * n + j)];
      if (i == 3 || (i == 7 && j == 9))
        EXPECT_TRUE(std::isnan(value));
      else
        EXPECT_EQ(value, i == 7 ? inf : j == 9 ? -inf : n);
    }
  }
}

}  // namespace
}  // namespace tcc::ir
