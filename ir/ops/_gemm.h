// The matrix product of the reference implementations, on floats and on integers.
#pragma once

#include <cstdint>

#include "ir/reference/gemm.h"

namespace tcc::ir::ops {

// C = A B for row-major C with row stride `ldc`; A and B have any strides. Sums wrap. Overwrites C.
void gemm_i64(int64_t m, int64_t n, int64_t k, const int64_t* a, int64_t a_row_stride,
              int64_t a_col_stride, const int64_t* b, int64_t b_row_stride, int64_t b_col_stride,
              int64_t* c, int64_t ldc);

// Either of the two, by element type.
inline void gemm(int64_t m, int64_t n, int64_t k, const double* a, int64_t a_row, int64_t a_col,
                 const double* b, int64_t b_row, int64_t b_col, double* c, int64_t ldc) {
  gemm_f64(m, n, k, a, a_row, a_col, b, b_row, b_col, c, ldc);
}
inline void gemm(int64_t m, int64_t n, int64_t k, const int64_t* a, int64_t a_row, int64_t a_col,
                 const int64_t* b, int64_t b_row, int64_t b_col, int64_t* c, int64_t ldc) {
  gemm_i64(m, n, k, a, a_row, a_col, b, b_row, b_col, c, ldc);
}

}  // namespace tcc::ir::ops
