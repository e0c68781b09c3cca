// Sums products of f8 matrices as matrix units do. A result is compared with these sums besides the
// exact ones.
#pragma once

#include <cstdint>

namespace tcc::ir {

// The way in which f8 products are summed.
enum class F8Sums : uint8_t {
  exact,
  promoted,  // each 128 of k by the matrix unit, those sums in f32
  unit,      // all of k by the matrix unit
};

// Multiplies f8 values; the parameters are those of gemm_f64. Hopper's tensor core takes 32 of k at
// a time, aligns their exact products and the sum so far to the largest of them, cuts off what is
// below its 14 bits, adds up, and cuts the sum to 14 bits (as DeepSeek-V3's report describes it).
void gemm_f8(F8Sums sums, int64_t m, int64_t n, int64_t k, const double* a, int64_t a_row_stride,
             int64_t a_col_stride, const double* b, int64_t b_row_stride, int64_t b_col_stride,
             double* c, int64_t ldc);

}  // namespace tcc::ir
