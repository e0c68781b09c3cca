// The reference semantics of matmul, linear, convolution and attention use this matrix product in
// f64.
#pragma once

#include <cstdint>

namespace tcc::ir {

// C[i, j] = sum over l of A[i, l] * B[l, j] for A of [m, k], B of [k, n] and C of [m, n]; C is
// overwritten (with zeros when k is 0). Strides are in elements, any sign or order of magnitude;
// C's rows are `ldc` apart and its columns adjacent. C must not overlap A or B. Runs on all cores.
// NaN and infinities propagate as the sum of products says. The order of the sum does not depend on
// the number of threads, but products are fused into it only where the CPU can, so that results may
// differ between machines in the last bits.
void gemm_f64(int64_t m, int64_t n, int64_t k, const double* a, int64_t a_row_stride,
              int64_t a_col_stride, const double* b, int64_t b_row_stride, int64_t b_col_stride,
              double* c, int64_t ldc);

}  // namespace tcc::ir
