// Products with few rows: out[m, n] = sum over k of A[m, k] * B[k, n], per batch, SIZE_M 1 to 8.
// Bound by reading B, which streams past once in vectors; A stays in caches. f32 products and sums on ordinary cores.
//
// A lane computes COLUMNS neighbouring columns of all rows over its share of k. LANES_N lanes of a warp lie along n,
// the others along k; WARPS_N and WARPS_K warps of a workgroup likewise. Shares of k are summed in a fixed order: by
// shuffles within a warp, through shared memory across warps. COLUMNS, LANES_N and SEGMENT are powers of two.
//
// OPERANDS is B's type in memory: 0 bf16, 1 f16, 2 f32. B_LOAD says how it is read:
//   0  vector_b(buffers, batch, at, k) is the offset in B_BUFFER, in elements, of B_VECTOR elements (2 to 16 bytes, so
//      aligned); B_VECTOR divides the contiguous extent.
//   1  load_b(buffers, batch, at, k, v) computes B_VECTOR elements. Guards itself.
//   2  row_b(buffers, batch, line) is the offset in B_BUFFER of a line's first element, of any alignment; B_VECTOR is
//      16 bytes.
// B_MAJOR_K 1: memory is contiguous along k; `at` is a column, `k` counts vectors, a line is a column.
// B_MAJOR_K 0: contiguous along n; `at` counts vectors, `k` is an element of k, a line is one k; COLUMNS = B_VECTOR.
// A lane takes K_UNIT neighbouring k at a time (B_MAJOR_K: K_UNIT = B_VECTOR), UNROLL such units in flight.
// load_a(buffers, batch, at, k, v) computes A_VECTOR elements, along k (A_MAJOR_K 1; divides K_UNIT) or along m
// (divides SIZE_M); zeros beyond SIZE_K, to which k comes as far as a multiple of K_UNIT * LANES_K * WARPS_K * UNROLL.
// epilogue(buffers, batch, row, part, acc) gets SEGMENT neighbouring columns from SEGMENT * part on, and guards itself;
// where SWAPPED, SEGMENT neighbouring m of column `row`.
//
// GRID = BATCHES * ceil(SIZE_N / (WARPS_N * LANES_N * COLUMNS)), WORKGROUP = 32 * WARPS_N * WARPS_K.
#include "unaligned.cuh"

#ifndef BLOCK_M  // compiled after the prelude alone, with default parameters and hooks that do the least
#define BLOCK_M 1
#define INDEX i32
#define OPERANDS 0
#define SIZE_M 1
#define SIZE_N 4096
#define SIZE_K 4096
#define BATCHES 1
#define COLUMNS 4
#define LANES_N 1
#define WARPS_N 2
#define WARPS_K 2
#define K_UNIT 8
#define UNROLL 2
#define SEGMENT 4
#define SWAPPED 0
#define A_MAJOR_K 1
#define A_VECTOR 8
#define B_LOAD 0
#define B_MAJOR_K 1
#define B_VECTOR 8
#define B_BUFFER b1
#define WORKGROUP 128
#define GRID 512
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) gemv(const f32* b0, const u16* b1, f32* b2)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
static __device__ __forceinline__ void load_a(const f32* b0, const u16* b1, f32* b2, i32 batch, i32 at, i32 k,
                                              f32 (&v)[8]) {
  for (i32 i = 0; i < 8; ++i) v[i] = b0[k * 8 + i];
}
static __device__ __forceinline__ i64 vector_b(const f32* b0, const u16* b1, f32* b2, i32 batch, i32 at, i32 k) {
  return at * SIZE_K + k * 8;
}
static __device__ __forceinline__ void epilogue(const f32* b0, const u16* b1, f32* b2, i32 batch, i32 row, i32 part,
                                                const f32 (&acc)[4]) {
  for (i32 i = 0; i < 4; ++i) b2[part * 4 + i] = acc[i];
}
#endif

#if OPERANDS == 2
typedef f32 Element;
#else
typedef u16 Element;
#endif

constexpr i32 LANES_K = 32 / LANES_N;
constexpr i32 LANE_STRIDE = B_MAJOR_K ? 1 : LANES_N;  // from a lane to the next along k
constexpr i32 WARP_COLUMNS = LANES_N * COLUMNS, BLOCK_COLUMNS = WARPS_N * WARP_COLUMNS;
constexpr i32 BLOCKS_N = (SIZE_N + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
constexpr i32 LOADS = B_MAJOR_K ? COLUMNS : K_UNIT;  // vectors of B of one unit
constexpr i32 UNITS = (SIZE_K + K_UNIT - 1) / K_UNIT, UNIT_STEP = LANES_K * WARPS_K;
constexpr bool RAGGED_K = SIZE_K % (K_UNIT * UNIT_STEP * UNROLL) != 0, RAGGED_N = SIZE_N % BLOCK_COLUMNS != 0;
static_assert(SIZE_M >= 1 && SIZE_M <= 8, "one to eight rows");
static_assert(SWAPPED || BLOCK_COLUMNS % SEGMENT == 0, "a workgroup's columns are whole segments");
static_assert(B_MAJOR_K ? K_UNIT == B_VECTOR : COLUMNS == B_VECTOR, "a unit is a vector along its contiguous axis");

#if B_LOAD == 2
static_assert(B_VECTOR * sizeof(Element) == 16, "lines of any alignment are read in chunks of 16 bytes");
#endif

#if B_LOAD != 1
constexpr i32 WORDS = (B_VECTOR * sizeof(Element) + 3) / 4;

TCC_FN f32 widen(u32 word, bool upper) {
#if OPERANDS == 0
  return __uint_as_float(upper ? word & 0xffff0000u : word << 16);
#elif OPERANDS == 1
  return TCC_F16_TO_F32(upper ? word >> 16 : word & 0xffffu);
#else
  return __uint_as_float(word);
#endif
}

TCC_FN void widen_vector(const u32 (&w)[WORDS], f32 (&v)[B_VECTOR]) {
#pragma unroll
  for (i32 i = 0; i < B_VECTOR; ++i) v[i] = OPERANDS == 2 ? widen(w[i], false) : widen(w[i / 2], i % 2 == 1);
}
#endif

#if B_LOAD == 0
// Loads a vector that is read once, zeros unless `inside`. Neighbours come along into the L2, nothing into the L1.
TCC_FN void load_once(const Element* from, bool inside, u32 (&w)[WORDS]) {
  const u64 at = __cvta_generic_to_global(from);
#pragma unroll
  for (i32 i = 0; i < WORDS; ++i) w[i] = 0;
#define LOAD_ONCE "{.reg .pred p; setp.ne.u32 p, "
#define LOAD_HOW ", 0; @p ld.global.nc.L1::no_allocate.L2::256B."
  if constexpr (WORDS == 4)
    asm(LOAD_ONCE "%5" LOAD_HOW "v4.u32 {%0, %1, %2, %3}, [%4];}"
        : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3]) : "l"(at), "r"(u32(inside)));
  else if constexpr (WORDS == 2)
    asm(LOAD_ONCE "%3" LOAD_HOW "v2.u32 {%0, %1}, [%2];}" : "+r"(w[0]), "+r"(w[1]) : "l"(at), "r"(u32(inside)));
  else if constexpr (B_VECTOR * sizeof(Element) == 4)
    asm(LOAD_ONCE "%2" LOAD_HOW "u32 %0, [%1];}" : "+r"(w[0]) : "l"(at), "r"(u32(inside)));
  else if (inside)
    w[0] = *from;
}
#endif

// Sums x over the lanes along k. While there are several columns, each half of the lanes goes on with half of them; at
// last a lane holds the returned number of columns, from `first` on, and `owner` tells one of the lanes that hold the
// same.
template <i32 COUNT = COLUMNS, i32 DISTANCE = LANES_K / 2>
TCC_FN constexpr i32 sum_lanes(f32 (&x)[SIZE_M][COLUMNS], i32 lane_k, i32& first, bool& owner) {
  if constexpr (DISTANCE == 0) {
    return COUNT;
  } else if constexpr (COUNT == 1) {
#pragma unroll
    for (i32 m = 0; m < SIZE_M; ++m) x[m][0] += __shfl_xor_sync(0xffffffffu, x[m][0], DISTANCE * LANE_STRIDE);
    owner = owner && (lane_k & DISTANCE) == 0;
    return sum_lanes<1, DISTANCE / 2>(x, lane_k, first, owner);
  } else {
    const bool upper = (lane_k & DISTANCE) != 0;
#pragma unroll
    for (i32 m = 0; m < SIZE_M; ++m)
#pragma unroll
      for (i32 j = 0; j < COUNT / 2; ++j) {
        const f32 give = upper ? x[m][j] : x[m][j + COUNT / 2];
        const f32 keep = upper ? x[m][j + COUNT / 2] : x[m][j];
        x[m][j] = keep + __shfl_xor_sync(0xffffffffu, give, DISTANCE * LANE_STRIDE);
      }
    first += upper ? COUNT / 2 : 0;
    return sum_lanes<COUNT / 2, DISTANCE / 2>(x, lane_k, first, owner);
  }
}

__shared__ f32 partial[WARPS_K][SIZE_M][BLOCK_COLUMNS];

TCC_ENTRY {
  TCC_BEGIN
  const i32 thread = i32(TCC_THREAD), warp = thread / 32, lane = thread % 32;
  const INDEX block = INDEX(TCC_BLOCK);
  if (block >= GRID) return;
  const i32 batch = i32(block / BLOCKS_N), col0 = i32(block % BLOCKS_N) * BLOCK_COLUMNS;
  const i32 warp_n = warp % WARPS_N, warp_k = warp / WARPS_N;
  const i32 lane_k = lane / LANE_STRIDE % LANES_K, lane_n = B_MAJOR_K ? lane / LANES_K : lane % LANES_N;
  const i32 lane_column = (warp_n * LANES_N + lane_n) * COLUMNS;

  f32 acc[SIZE_M][COLUMNS];
#pragma unroll
  for (i32 m = 0; m < SIZE_M; ++m)
#pragma unroll
    for (i32 c = 0; c < COLUMNS; ++c) acc[m][c] = 0.0f;

#pragma unroll 1
  for (i32 first = warp_k * LANES_K + lane_k; first < UNITS; first += UNIT_STEP * UNROLL) {
    f32 b[UNROLL][LOADS][B_VECTOR];
#pragma unroll
    for (i32 u = 0; u < UNROLL; ++u)
#pragma unroll
      for (i32 i = 0; i < LOADS; ++i) {
        const i32 column = col0 + lane_column + (B_MAJOR_K ? i : 0);
        const i32 k = (first + u * UNIT_STEP) * K_UNIT + (B_MAJOR_K ? 0 : i);
        const bool inside = (!RAGGED_K || k < SIZE_K) && (!RAGGED_N || column < SIZE_N);
        const i32 at_vector = B_MAJOR_K ? column : u32(column) / B_VECTOR;
        const i32 k_vector = B_MAJOR_K ? u32(k) / B_VECTOR : k;
#if B_LOAD == 1
        load_b(TCC_BUFFERS batch, at_vector, k_vector, b[u][i]);
#elif B_LOAD == 0
        u32 w[WORDS];
        load_once((const Element*)(B_BUFFER) + vector_b(TCC_BUFFERS batch, at_vector, k_vector), inside, w);
        widen_vector(w, b[u][i]);
#else
        const Element* const line = (const Element*)(B_BUFFER) + row_b(TCC_BUFFERS batch, B_MAJOR_K ? column : k);
        const i32 at = B_MAJOR_K ? k : column, size = B_MAJOR_K ? SIZE_K : SIZE_N;
        u32 w[WORDS];
        shift_unaligned<Element>(fetch_unaligned(line, at, size, inside), size - at, w);
        widen_vector(w, b[u][i]);
#endif
      }
#define B_AT(u, i, c) b[u][B_MAJOR_K ? (c) : (i)][B_MAJOR_K ? (i) : (c)]
#pragma unroll
    for (i32 u = 0; u < UNROLL; ++u) {
      const i32 unit = first + u * UNIT_STEP;
#if A_MAJOR_K
#pragma unroll
      for (i32 m = 0; m < SIZE_M; ++m)
#pragma unroll
        for (i32 p = 0; p < K_UNIT / A_VECTOR; ++p) {
          f32 a[A_VECTOR];
          load_a(TCC_BUFFERS batch, m, unit * (K_UNIT / A_VECTOR) + p, a);
#pragma unroll
          for (i32 v = 0; v < A_VECTOR; ++v)
#pragma unroll
            for (i32 c = 0; c < COLUMNS; ++c)
              acc[m][c] = tcc_fma_f32(a[v], B_AT(u, p * A_VECTOR + v, c), acc[m][c]);
        }
#else
#pragma unroll
      for (i32 i = 0; i < K_UNIT; ++i)
#pragma unroll
        for (i32 p = 0; p < SIZE_M / A_VECTOR; ++p) {
          f32 a[A_VECTOR];
          load_a(TCC_BUFFERS batch, p, unit * K_UNIT + i, a);
#pragma unroll
          for (i32 v = 0; v < A_VECTOR; ++v)
#pragma unroll
            for (i32 c = 0; c < COLUMNS; ++c)
              acc[p * A_VECTOR + v][c] = tcc_fma_f32(a[v], B_AT(u, i, c), acc[p * A_VECTOR + v][c]);
        }
#endif
    }
  }

  i32 first = 0;
  bool owner = true;
  const i32 held = sum_lanes(acc, lane_k, first, owner);
  if (owner) {
#pragma unroll
    for (i32 m = 0; m < SIZE_M; ++m)
#pragma unroll
      for (i32 c = 0; c < COLUMNS; ++c)
        if (c < held) partial[warp_k][m][lane_column + first + c] = acc[m][c];
  }
  __syncthreads();

  // Segments along n of each row, or, swapped, along m of each column.
  constexpr i32 LINE = SWAPPED ? SIZE_M : BLOCK_COLUMNS, LINES = SWAPPED ? BLOCK_COLUMNS : SIZE_M;
  constexpr i32 PARTS = (LINE + SEGMENT - 1) / SEGMENT;
#pragma unroll 1
  for (i32 n = thread; n < LINES * PARTS; n += WORKGROUP) {
    const i32 line = n / PARTS, part = n % PARTS;
    f32 segment[SEGMENT];
#pragma unroll
    for (i32 i = 0; i < SEGMENT; ++i) {
      const i32 at = part * SEGMENT + i, m = SWAPPED ? at : line, column = SWAPPED ? line : at;
      segment[i] = 0.0f;
      if (LINE % SEGMENT != 0 && at >= LINE) continue;
#pragma unroll
      for (i32 w = 0; w < WARPS_K; ++w) segment[i] += partial[w][m][column];
    }
    epilogue(TCC_BUFFERS batch, SWAPPED ? col0 + line : line, (SWAPPED ? 0 : col0 / SEGMENT) + part, segment);
  }
}
