#include "ir/reference/gemm_f8.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <vector>

#include "ir/reference/gemm.h"
#include "support/parallel.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace tcc::ir {
namespace {

constexpr int64_t kAtOnce = 32;     // of k, in one addition of the matrix unit
constexpr int64_t kPromoted = 128;  // of k
constexpr int kBits = 14;           // of a sum, the leading one included
constexpr int64_t kColumns = 64;    // of B, packed for all rows of A
constexpr int64_t kTask = 1 << 16;  // products

// sum + x . y
float add_products(float sum, const float* x, const float* y) {
  constexpr int32_t infinity = 0x7f800000;
  const auto magnitude_of = [](float value) { return std::bit_cast<int32_t>(value) & 0x7fffffff; };
  float products[kAtOnce];
  int32_t largest = magnitude_of(sum);
  for (int64_t i = 0; i < kAtOnce; ++i) {
    products[i] = x[i] * y[i];
    largest = std::max(largest, magnitude_of(products[i]));
  }
  if (largest >= infinity || largest == 0)
    return std::accumulate(std::begin(products), std::end(products), sum);
  const float unit = std::bit_cast<float>(largest & infinity) / (1 << (kBits - 1));
  const float per_unit = 1 / unit;
  int32_t total = static_cast<int32_t>(sum * per_unit);
  for (int64_t i = 0; i < kAtOnce; ++i) total += static_cast<int32_t>(products[i] * per_unit);
  const auto magnitude = static_cast<uint32_t>(std::abs(total));
  const int dropped = std::max(0, static_cast<int>(std::bit_width(magnitude)) - kBits);
  const float kept = static_cast<float>(magnitude >> dropped << dropped) * unit;
  return total < 0 ? -kept : kept;
}

float sum_of_products(F8Sums sums, const float* x, const float* y, int64_t depth) {
  float total = 0, part = 0;
  for (int64_t l = 0; l < depth; l += kAtOnce) {
    part = add_products(part, x + l, y + l);
    if (sums == F8Sums::promoted && (l + kAtOnce) % kPromoted == 0) {
      total += part;
      part = 0;
    }
  }
  return total + part;
}

}  // namespace

void gemm_f8(F8Sums sums, int64_t m, int64_t n, int64_t k, const double* a, int64_t a_row_stride,
             int64_t a_col_stride, const double* b, int64_t b_row_stride, int64_t b_col_stride,
             double* c, int64_t ldc) {
  if (sums == F8Sums::exact)
    return gemm_f64(m, n, k, a, a_row_stride, a_col_stride, b, b_row_stride, b_col_stride, c, ldc);
  const int64_t depth = (k + kAtOnce - 1) / kAtOnce * kAtOnce;
  // Lines along k, with zeros after them.
  auto pack = [&](const double* from, int64_t line_stride, int64_t k_stride, int64_t lines) {
    std::vector<float> packed(static_cast<size_t>(lines * depth), 0.0f);
    parallel_for(0, lines, std::max<int64_t>(1, kTask / std::max<int64_t>(1, depth)),
                 [&](int64_t lo, int64_t hi) {
                   for (int64_t i = lo; i < hi; ++i)
                     for (int64_t l = 0; l < k; ++l)
                       packed[static_cast<size_t>(i * depth + l)] =
                           static_cast<float>(from[i * line_stride + l * k_stride]);
                 });
    return packed;
  };
  const std::vector<float> rows = pack(a, a_row_stride, a_col_stride, m);
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t count = std::min(kColumns, n - first);
    const std::vector<float> columns =
        pack(b + first * b_col_stride, b_col_stride, b_row_stride, count);
    const int64_t grain = std::max<int64_t>(1, kTask / std::max<int64_t>(1, count * depth));
    parallel_for(0, m, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < count; ++j)
          c[i * ldc + first + j] =
              sum_of_products(sums, rows.data() + i * depth, columns.data() + j * depth, depth);
    });
  }
}

}  // namespace tcc::ir
