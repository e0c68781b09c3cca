// A warpgroup's products of f32 on FMA units, of the tiles that wgmma would read: rows of 128 bytes of k, swizzled by eights
// of rows, which turn_tiles may have turned, or (not major_k) lines of 32 rows, swizzled by eights of k.
//
// A warp has 16 rows of every 64, like those of wgmma, and all columns. Eight lanes share four rows (neighbours, of lines of
// rows), and four lanes a column of each eight. A lane's sums come by fours, too: those of its rows, in one column of an eight.
#include "sm90_pipeline.cuh"

template <bool A_MAJOR_K, bool B_MAJOR_K, i32 COLUMNS_, bool TURNS> struct FmaUnit {
  using Acc = f32;
  static constexpr i32 COLUMNS = COLUMNS_, SUMS = COLUMNS / 2, EIGHTS = COLUMNS / 8;
  static constexpr bool a_major_k = A_MAJOR_K, b_major_k = B_MAJOR_K;
  static constexpr i32 AT_ONCE = EIGHTS % 4 == 0 ? 4 : EIGHTS % 2 == 0 ? 2 : 1;  // eights whose columns are loaded at once
  static_assert(B_MAJOR_K || AT_ONCE == 4, "a lane reads four neighbouring columns");
  // Whether lines along k are turned before they are multiplied (turn_tiles); those of one eight of columns never are.
  static constexpr bool turns_a = TURNS && A_MAJOR_K, turns_b = TURNS && B_MAJOR_K && AT_ONCE > 1;

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

TCC_FN void store_four(u8* to, f32 a, f32 b, f32 c, f32 d) { *(float4*)to = float4{a, b, c, d}; }

// Turns what lies along k of one stage's tiles in place, so that lanes read neighbours of one k there: the vectors of four k
// that a lane has of its four rows become vectors of these rows, and so do those of its columns, of four or two
// eights at once (of two, a vector has two k). Registers of neighbours are in different banks, and those of each sum as well;
// vectors along k would make every other product read two registers of one bank. `WARPS` warps share the tiles.
// Eight lanes touch all banks of shared memory at once.
template <class Unit, i32 ROWS, i32 WARPS> TCC_FN void turn_tiles(u8* tile_a, u8* tile_b, i32 warp, i32 lane) {
  const u32 chunk = lane % 8, line = lane / 8;
  if constexpr (Unit::turns_a) {
#pragma unroll 1
    for (i32 n = warp; n < ROWS / 16; n += WARPS) {
      u8* const at = tile_a + n * 2048 + line * 128 + (chunk ^ line) * 16;
      u8* const at_odd = tile_a + n * 2048 + line * 128 + (chunk ^ line ^ 4) * 16;
      f32 v[4][4];
#pragma unroll
      for (i32 i = 0; i < 4; ++i) load_four((i % 2 == 0 ? at : at_odd) + i * 512, v[i]);
#pragma unroll
      for (i32 i = 0; i < 4; ++i) store_four((i % 2 == 0 ? at : at_odd) + i * 512, v[0][i], v[1][i], v[2][i], v[3][i]);
    }
  }
  if constexpr (Unit::turns_b) {
    constexpr i32 AT_ONCE = Unit::AT_ONCE;
#pragma unroll 1
    for (i32 n = warp; n < 2 * Unit::EIGHTS / AT_ONCE; n += WARPS) {
      const u32 column = n % 2 * 4 + line;
      u8* const at = tile_b + n / 2 * (AT_ONCE * 1024) + column * 128 + (chunk ^ column) * 16;
      f32 v[AT_ONCE][4];
#pragma unroll
      for (i32 j = 0; j < AT_ONCE; ++j) load_four(at + j * 1024, v[j]);
      if constexpr (AT_ONCE == 4) {
#pragma unroll
        for (i32 i = 0; i < 4; ++i) store_four(at + i * 1024, v[0][i], v[1][i], v[2][i], v[3][i]);
      } else {
#pragma unroll
        for (i32 i = 0; i < 2; ++i) store_four(at + i * 1024, v[0][2 * i], v[1][2 * i], v[0][2 * i + 1], v[1][2 * i + 1]);
      }
    }
  }
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
      // Four k of row r lie at place c ^ r % 8 (once turned, a k of four rows at that of one of them), four rows r of k at
      // place r / 4 ^ k % 8.
      const u32 at_a = ((c & 3) ^ lane_m) * 16, at_b = (c ^ lane_n) * 16;
      f32 a[SLABS][4][4];  // row, k
#pragma unroll
      for (i32 m = 0; m < SLABS; ++m)
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
          f32 v[4];
          if constexpr (Unit::a_major_k)
            load_four(tile_a + at_a + ((c & 4) ^ (i & 1) * 4) * 16 + i * 512 + m * 8192, v);
          else
            load_four(tile_a + (c * 4 + i) * 128 + (chunk_a ^ ((c & 1) * 4 + i)) * 16 + m * 8192, v);
#pragma unroll
          for (i32 n = 0; n < 4; ++n) {
            if constexpr (Unit::a_major_k && !Unit::turns_a)
              a[m][i][n] = v[n];
            else
              a[m][n][i] = v[n];
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
            for (i32 q = 0; q < 4; ++q) {
              if constexpr (Unit::turns_b)
                b[(j * 4 + q) / AT_ONCE][q % AT_ONCE] = v[q];
              else
                b[q][j] = v[q];
            }
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
            for (i32 n = 0; n < 4 * SLABS; ++n) {
              // Rows are walked to and fro: one register is that of the product before, at each turn the row's.
              const i32 r = j % 2 == 0 ? n : 4 * SLABS - 1 - n, m = r / 4, i = r % 4;
              acc[m][(e + j) * 4 + i] = tcc_fma_f32(a[m][i][q], b[q][j], acc[m][(e + j) * 4 + i]);
            }
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
