// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication": A and B are
// packed into panels as tall as a tile of registers, slab by slab, and the tiles run in parallel
// over each slab.
#include "ir/reference/gemm.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "support/checked.h"
#include "support/parallel.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast")
#endif

namespace tcc::ir {
namespace {

constexpr int64_t kSlabDepth = 192;  // a panel of B of this depth fits in L1, beside one of A
constexpr int64_t kSlabRows = 4096;  // bound the packed copies
constexpr int64_t kSlabColumns = 3072;
constexpr int64_t kBlockRows = 128;     // of A, in L2 while a task goes over its panels of B
constexpr int64_t kBlockPanels = 4;     // panels of B in one task
constexpr int64_t kTinyProduct = 4096;  // m * n * k below this is not worth packing

struct FreeAligned {
  void operator()(double* p) const { ::operator delete (p, std::align_val_t{64}); }
};
using Packed = std::unique_ptr<double, FreeAligned>;

Packed allocate(int64_t count) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(double);
  return Packed(static_cast<double*>(::operator new (bytes, std::align_val_t{64})));
}

// A strided matrix of panels: `across` steps within a panel's width, `along` steps in the direction
// of the sum.
struct Operand {
  const double* data;
  int64_t across, along;
};

// packed[l * width + i] = element (first + i, l) for i < width; zeros for those beyond `count`.
// Zeros never meet a result that is kept.
void pack_panel(const Operand& x, int64_t first, int64_t count, int64_t width, int64_t depth,
                double* packed) {
  const double* from = x.data + first * x.across;
  const int64_t valid = std::min(width, count - first);
  if (valid < width) std::fill_n(packed, width * depth, 0.0);
  if (x.across == 1) {
    for (int64_t l = 0; l < depth; ++l) std::copy_n(from + l * x.along, valid, packed + l * width);
    return;
  }
  for (int64_t i = 0; i < valid; ++i) {
    const double* row = from + i * x.across;
    for (int64_t l = 0; l < depth; ++l) packed[l * width + i] = row[l * x.along];
  }
}

void pack(const Operand& x, int64_t count, int64_t width, int64_t depth, double* packed) {
  const int64_t panels = ceil_div(count, width);
  parallel_for(0, panels, ceil_div(int64_t{1} << 14, width * depth), [&](int64_t lo, int64_t hi) {
    for (int64_t p = lo; p < hi; ++p)
      pack_panel(x, p * width, count, width, depth, packed + p * width * depth);
  });
}

// The product of a panel of A and one of B, into (or onto) rows x columns of C; the tile's full
// size is kRows x kVectors * lanes.
struct Tile {
  int64_t depth;
  const double* a;
  const double* b;
  double* c;
  int64_t ldc, rows, columns;
  bool accumulate;
};

template <class Vector, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply(const Tile& tile) {
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
  constexpr int kLanes = sizeof(Vector) / sizeof(double);
  constexpr int kColumns = kVectors * kLanes;
  Vector sum[kRows][kVectors] = {};
  const double* a = tile.a;
  const double* b = tile.b;
  for (int64_t l = 0; l < tile.depth; ++l, a += kRows, b += kColumns) {
    Vector row[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) row[v] = *reinterpret_cast<const Vector*>(b + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[i][v] += a[i] * row[v];
    }
  }
  alignas(64) double whole[kRows * kColumns];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v)
      *reinterpret_cast<Vector*>(whole + i * kColumns + v * kLanes) = sum[i][v];
  }
  for (int64_t i = 0; i < tile.rows; ++i) {
    double* to = tile.c + i * tile.ldc;
    const double* from = whole + i * kColumns;
    if (tile.accumulate) {
      for (int64_t j = 0; j < tile.columns; ++j) to[j] += from[j];
    } else {
      std::copy_n(from, tile.columns, to);
    }
  }
}

typedef double Vector2 __attribute__((vector_size(16), may_alias));
typedef double Vector4 __attribute__((vector_size(32), may_alias));
typedef double Vector8 __attribute__((vector_size(64), may_alias));

// A register tile and the function that fills it, for one instruction set.
struct Kernel {
  int64_t rows, columns;
  void (*multiply)(const Tile&);
};

void multiply_baseline(const Tile& tile) { multiply<Vector2, 4, 2>(tile); }

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void multiply_avx2(const Tile& tile) { multiply<Vector4, 4, 3>(tile); }
[[gnu::target("avx512f,fma")]] void multiply_avx512(const Tile& tile) {
  multiply<Vector8, 8, 3>(tile);
}
#endif

Kernel pick_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {8, 24, multiply_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {4, 12, multiply_avx2};
#endif
  return {4, 4, multiply_baseline};
}

// C (m x n, one slab) from packed panels: tasks of kBlockRows rows by kBlockPanels panels of B.
void multiply_slab(const Kernel& kernel, int64_t m, int64_t n, const double* a, const double* b,
                   const Tile& common) {
  const int64_t depth = common.depth;
  const int64_t row_blocks = ceil_div(m, kBlockRows), panels = ceil_div(n, kernel.columns);
  const int64_t column_blocks = ceil_div(panels, kBlockPanels);
  parallel_for(0, row_blocks * column_blocks, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t task = lo; task < hi; ++task) {
      const int64_t first_row = task / column_blocks * kBlockRows;
      const int64_t first_panel = task % column_blocks * kBlockPanels;
      for (int64_t p = first_panel; p < std::min(panels, first_panel + kBlockPanels); ++p) {
        const int64_t column = p * kernel.columns;
        for (int64_t row = first_row; row < std::min(m, first_row + kBlockRows);
             row += kernel.rows) {
          Tile tile = common;
          tile.a = a + row * depth;
          tile.b = b + column * depth;
          tile.c = common.c + row * common.ldc + column;
          tile.rows = std::min(kernel.rows, m - row);
          tile.columns = std::min(kernel.columns, n - column);
          kernel.multiply(tile);
        }
      }
    }
  });
}

void multiply_tiny(int64_t m, int64_t n, int64_t k, const Operand& a, const Operand& b, double* c,
                   int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += a.data[i * a.across + l * a.along] * b.data[j * b.across + l * b.along];
      c[i * ldc + j] = sum;
    }
  }
}

}  // namespace

void gemm_f64(int64_t m, int64_t n, int64_t k, const double* a, int64_t a_row_stride,
              int64_t a_col_stride, const double* b, int64_t b_row_stride, int64_t b_col_stride,
              double* c, int64_t ldc) {
  static_assert(kBlockRows % 8 == 0 && kSlabRows % kBlockRows == 0, "blocks are whole tiles");
  const Operand rows{a, a_row_stride, a_col_stride}, columns{b, b_col_stride, b_row_stride};
  if (m <= 0 || n <= 0) return;
  const auto volume = checked_product(std::array{m, n, k});
  if (k <= 0 || (volume && *volume <= kTinyProduct))
    return multiply_tiny(m, n, k, rows, columns, c, ldc);

  static const Kernel kernel = pick_kernel();
  const int64_t depth_most = std::min(k, kSlabDepth);
  const Packed a_packed = allocate(round_up(std::min(m, kSlabRows), kernel.rows) * depth_most);
  const Packed b_packed =
      allocate(round_up(std::min(n, kSlabColumns), kernel.columns) * depth_most);
  for (int64_t column = 0; column < n; column += kSlabColumns) {
    const int64_t width = std::min(kSlabColumns, n - column);
    for (int64_t l = 0; l < k; l += kSlabDepth) {
      const int64_t depth = std::min(kSlabDepth, k - l);
      pack({columns.data + column * columns.across + l * columns.along, columns.across,
            columns.along},
           width, kernel.columns, depth, b_packed.get());
      for (int64_t row = 0; row < m; row += kSlabRows) {
        const int64_t height = std::min(kSlabRows, m - row);
        pack({rows.data + row * rows.across + l * rows.along, rows.across, rows.along}, height,
             kernel.rows, depth, a_packed.get());
        const Tile common{depth, nullptr, nullptr, c + row * ldc + column, ldc, 0, 0, l > 0};
        multiply_slab(kernel, height, width, a_packed.get(), b_packed.get(), common);
      }
    }
  }
}

}  // namespace tcc::ir
