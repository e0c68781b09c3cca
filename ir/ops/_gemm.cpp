#include "ir/ops/_gemm.h"

#include <algorithm>

#include "support/parallel.h"

namespace tcc::ir::ops {

void gemm_i64(int64_t m, int64_t n, int64_t k, const int64_t* a, int64_t a_row_stride,
              int64_t a_col_stride, const int64_t* b, int64_t b_row_stride, int64_t b_col_stride,
              int64_t* c, int64_t ldc) {
  constexpr int64_t operations = int64_t{1} << 14;  // of one piece
  const int64_t grain = operations / std::max<int64_t>(1, std::max<int64_t>(1, n) * k);
  parallel_for(0, m, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      int64_t* row = c + i * ldc;
      std::fill(row, row + n, 0);
      for (int64_t p = 0; p < k; ++p) {
        // Unsigned, because signed overflow has no defined result.
        const auto factor = static_cast<uint64_t>(a[i * a_row_stride + p * a_col_stride]);
        for (int64_t j = 0; j < n; ++j) {
          const auto other = static_cast<uint64_t>(b[p * b_row_stride + j * b_col_stride]);
          row[j] = static_cast<int64_t>(static_cast<uint64_t>(row[j]) + factor * other);
        }
      }
    }
  });
}

}  // namespace tcc::ir::ops
