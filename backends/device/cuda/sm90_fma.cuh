// A warpgroup's products of f32 on FMA units, of the tiles that wgmma would read: rows of 128 bytes of k, swizzled by eights
// of rows, or (not major_k) lines of 32 rows, swizzled by eights of k.
//
// A warp has 16 rows of every 64, like those of wgmma, and all columns. Eight lanes share four rows (neighbours, of lines of
// rows), and four lanes a column of each eight. A lane's sums come by fours, too: those of its rows, in one column of an eight.
#include "sm90_pipeline.cuh"

template <bool A_MAJOR_K, bool B_MAJOR_K, i32 COLUMNS_> struct FmaUnit {
  using Acc = f32;
  static constexpr i32 COLUMNS = COLUMNS_, SUMS = COLUMNS / 2, EIGHTS = COLUMNS / 8;
  static constexpr bool a_major_k = A_MAJOR_K, b_major_k = B_MAJOR_K;
  static constexpr i32 AT_ONCE = EIGHTS % 4 == 0 ? 4 : EIGHTS % 2 == 0 ? 2 : 1;  // eights whose columns are loaded at once
  static_assert(B_MAJOR_K || AT_ONCE == 4, "a lane reads four neighbouring columns");

  // The place of a lane's row among 16, and of its column of an eight; with lines of rows it has four neighbours.
  __device__ __forceinline__ static i32 row(i32 lane, i32 i) { return A_MAJOR_K ? i * 4 + lane / 8 : lane / 8 * 4 + i; }
  __device__ __forceinline__ static i32 column(i32 lane, i32 eight) {
    return B_MAJOR_K ? eight * 8 + lane % 8 : eight / 4 * 32 + lane % 8 * 4 + eight % 4;
  }
  template <class Staged> __device__ __forceinline__ static void stage(u32 storage, i32 lane, i32 eight, const f32 (&v)[4]) {
#pragma unroll
    for (i32 i = 0; i < 4; ++i)
      store_shared(storage + Staged::place(row(lane, i), column(lane, eight)), tcc_f32_bits(v[i]));
  }
};

TCC_FN void load_four(const u8* from, f32 (&v)[4]) {
  const float4 x = *(const float4*)from;
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}

// acc = the sum over the k tiles of a pipeline, as multiply() of sm90_mainloop.cuh.
template <class Unit, i32 FOLD, bool TOTALS_SHARED, i32 SLABS, class Stages, class ReleaseStage>
TCC_FN void multiply_fma(f32 (&acc)[SLABS][Unit::SUMS], const u8* shared, u32 shared_at, Stages& stages, u32 offset_a, u32 offset_b, i32 k_begin, i32 k_end,
                         const ReleaseStage& release, i32 warp, i32 lane, float4* totals) {
  constexpr i32 SUMS = Unit::SUMS, AT_ONCE = Unit::AT_ONCE;
  constexpr bool own = FOLD > 0 && !TOTALS_SHARED;
  f32 total[own ? SLABS : 1][own ? SUMS : 1];
#pragma unroll
  for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
    for (i32 i = 0; i < SUMS; ++i) {
      acc[m][i] = 0;
      if constexpr (own) total[m][i] = 0;
    }
  const u32 lane_m = lane / 8, lane_n = lane % 8;
  const u32 chunk_a = warp % 2 * 4 + lane_m;  // of a line of A: this lane's four rows
  i32 left = FOLD;
  bool first = true;
#pragma unroll 1
  for (i32 k = k_begin; k < k_end; ++k) {
    stages.wait_until_full();
    const u8* const tile = shared + (stages.tile() - shared_at);
    // A box of lines has the rows of two warps.
    const u8* const tile_a = tile + offset_a + (Unit::a_major_k ? warp * (16 * 128) + lane_m * 128 : warp / 2 * 4096);
    const u8* const tile_b = tile + offset_b + (Unit::b_major_k ? lane_n * 128 : 0);
#pragma unroll 2
    for (i32 c = 0; c < 8; ++c) {
      // Four k of row r lie at place c ^ r % 8, four rows r of k at place r / 4 ^ k % 8.
      const u32 at_a = ((c & 3) ^ lane_m) * 16, at_b = (c ^ lane_n) * 16;
      f32 a[SLABS][4][4];  // row, k
#pragma unroll
      for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
          if constexpr (Unit::a_major_k) {
            load_four(tile_a + at_a + ((c & 4) ^ (i & 1) * 4) * 16 + i * 512 + m * 8192, a[m][i]);
          } else {
            f32 v[4];
            load_four(tile_a + (c * 4 + i) * 128 + (chunk_a ^ ((c & 1) * 4 + i)) * 16 + m * 8192, v);
#pragma unroll
            for (i32 r = 0; r < 4; ++r) a[m][r][i] = v[r];
          }
        }
#pragma unroll
      for (i32 e = 0; e < Unit::EIGHTS; e += AT_ONCE) {
        f32 b[4][4];  // k, column
        if constexpr (Unit::b_major_k) {
#pragma unroll
          for (i32 j = 0; j < AT_ONCE; ++j) {
            f32 v[4];
            load_four(tile_b + at_b + (e + j) * 1024, v);
#pragma unroll
            for (i32 q = 0; q < 4; ++q) b[q][j] = v[q];
          }
        } else {
#pragma unroll
          for (i32 q = 0; q < 4; ++q)
            load_four(tile_b + e * 1024 + (c * 4 + q) * 128 + (lane_n ^ ((c & 1) * 4 + q)) * 16, b[q]);
        }
#pragma unroll
        for (i32 q = 0; q < 4; ++q)
#pragma unroll
          for (i32 j = 0; j < AT_ONCE; ++j)
#pragma unroll
            for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
              for (i32 i = 0; i < 4; ++i)
                acc[m][(e + j) * 4 + i] = tcc_fma_f32(a[m][i][q], b[q][j], acc[m][(e + j) * 4 + i]);
      }
    }
    release(stages.stage);
    stages.advance(1);
    if constexpr (FOLD > 0) {
      if (--left == 0 || k == k_end - 1) {
        left = FOLD;
        if constexpr (own) {
#pragma unroll
          for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
            for (i32 i = 0; i < SUMS; ++i) {
              total[m][i] += acc[m][i];
              acc[m][i] = 0;
            }
        } else {
          const bool last = k == k_end - 1;
#pragma unroll
          for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
            for (i32 i = 0; i < SUMS; i += 4) {
              float4& t = totals[(m * SUMS + i) / 4 * 32];
              float4 sum = first ? float4{0, 0, 0, 0} : t;
              sum.x += acc[m][i];
              sum.y += acc[m][i + 1];
              sum.z += acc[m][i + 2];
              sum.w += acc[m][i + 3];
              if (!last) t = sum;
              acc[m][i] = last ? sum.x : 0;
              acc[m][i + 1] = last ? sum.y : 0;
              acc[m][i + 2] = last ? sum.z : 0;
              acc[m][i + 3] = last ? sum.w : 0;
            }
          first = false;
        }
      }
    }
  }
  if constexpr (TOTALS_SHARED) __syncwarp();  // the totals' memory stages sums next
  if constexpr (own) {
#pragma unroll
    for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
      for (i32 i = 0; i < SUMS; ++i) acc[m][i] = total[m][i];
  }
}
