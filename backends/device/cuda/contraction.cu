// Matrix products on FMA units: out[row, col] = sum over k of A[row, k] * B[k, col], per batch.
//
// A workgroup computes a BLOCK_M x BLOCK_N tile, a thread THREAD_M x THREAD_N of it in registers. Tiles of A and B go
// through shared memory, k-major, two of each: the next is loaded into registers while this one is multiplied.
// Hooks: load_a, load_b (index maps, prologues, bounds), epilogue (a row segment of SEGMENT results).
// Long sums are folded every FOLD_TILES tiles into a second set of accumulators, which keeps f32 results within a few
// ulp of exact. Where both operands are 8-bit integers, PACK = 4 neighbours along k are one word of the tiles, and dp4a
// multiplies and sums four of them; k then counts words.
#ifndef BLOCK_M  // compiled after the prelude alone, with default parameters and hooks that do the least
#define ACC f32
#define INDEX i32
#define BLOCK_M 64
#define BLOCK_N 64
#define BLOCK_K 16
#define THREAD_M 8
#define THREAD_N 4
#define SIZE_K 1024
#define TILES_M 16
#define TILES_N 16
#define A_VECTOR 4
#define A_ALONG_K 1
#define B_VECTOR 4
#define B_ALONG_K 0
#define SEGMENT 4
#define FOLD_TILES 8
#define TILE_BYTES 17408
#define FLOAT_ACC 1
#define WORKGROUP 128
#define GRID 256
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) contraction(const f32* __restrict__ b0, const f32* __restrict__ b1, f32* __restrict__ b2)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
static __device__ __forceinline__ void load_a(const f32* b0, const f32* b1, f32* b2, i32 batch, i32 at, i32 k, f32 (&v)[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b0[at * SIZE_K + k * 4 + i];
}
static __device__ __forceinline__ void load_b(const f32* b0, const f32* b1, f32* b2, i32 batch, i32 at, i32 k, f32 (&v)[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b1[k * BLOCK_N * TILES_N + at * 4 + i];
}
static __device__ __forceinline__ void epilogue(const f32* b0, const f32* b1, f32* b2, i32 batch, i32 row, i32 part, const f32 (&acc)[4]) {
  for (i32 i = 0; i < 4; ++i) b2[row * BLOCK_N * TILES_N + part * 4 + i] = acc[i];
}
#endif

#ifndef PACK
#define PACK 1
#endif
#define K_TILES ((SIZE_K + BLOCK_K - 1) / BLOCK_K)
#define THREADS_N (BLOCK_N / THREAD_N)
#define SEGMENTS (THREAD_N / SEGMENT)
// Rows of the shared tiles are padded so that the transposing stores of along-k vectors hit different banks.
#define STRIDE_A (BLOCK_M + 4)
#define STRIDE_B (BLOCK_N + 4)
// Words that a thread moves at once, how many of those a tile has, and how many each thread moves.
#if PACK == 1
#define WORD ACC
#define A_WORDS A_VECTOR
#define B_WORDS B_VECTOR
#if FLOAT_ACC
#define MULTIPLY_ADD(a, b, c) fused_multiply_add(a, b, c)
static __device__ __forceinline__ f32 fused_multiply_add(f32 a, f32 b, f32 c) { return tcc_fma_f32(a, b, c); }
static __device__ __forceinline__ f64 fused_multiply_add(f64 a, f64 b, f64 c) { return tcc_fma_f64(a, b, c); }
#else
#define MULTIPLY_ADD(a, b, c) ((c) + (a) * (b))
#endif
#else
#define WORD u32
#define A_WORDS (A_ALONG_K == 0 ? A_VECTOR : A_VECTOR < PACK ? 1 : A_VECTOR / PACK)
#define B_WORDS (B_ALONG_K == 0 ? B_VECTOR : B_VECTOR < PACK ? 1 : B_VECTOR / PACK)
#define MULTIPLY_ADD(a, b, c) dot4(a, b, c)
// A_SIGNED and B_SIGNED: whether the bytes are signed.
static __device__ __forceinline__ ACC dot4(u32 a, u32 b, ACC c) {
  ACC sum;
#define DP4A(types) asm("dp4a." types " %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c))
  if (A_SIGNED && B_SIGNED)
    DP4A("s32.s32");
  else if (A_SIGNED)
    DP4A("s32.u32");
  else if (B_SIGNED)
    DP4A("u32.s32");
  else
    DP4A("u32.u32");
  return sum;
}
#endif
#define A_MOVES (BLOCK_M * BLOCK_K / A_WORDS)
#define B_MOVES (BLOCK_N * BLOCK_K / B_WORDS)
#define A_STEPS ((A_MOVES + WORKGROUP - 1) / WORKGROUP)
#define B_STEPS ((B_MOVES + WORKGROUP - 1) / WORKGROUP)
#define A_PER_K (BLOCK_K / A_WORDS)
#define A_PER_M (BLOCK_M / A_WORDS)
#define B_PER_K (BLOCK_K / B_WORDS)
#define B_PER_N (BLOCK_N / B_WORDS)

__shared__ __align__(16) WORD tile_a[2][BLOCK_K * STRIDE_A];
__shared__ __align__(16) WORD tile_b[2][BLOCK_K * STRIDE_B];
static_assert(sizeof(tile_a) + sizeof(tile_b) == TILE_BYTES, "the template counts the tiles' bytes as they are");

TCC_ENTRY {
  TCC_BEGIN
  const i32 thread = i32(TCC_THREAD);
  const INDEX block = INDEX(TCC_BLOCK);
  if (block >= GRID) return;
  // Neighbouring workgroups share rows of A within a band of tiles, so that both operands stay in L2.
  const i32 band = 8;
  const i32 in_batch = i32(block % (TILES_M * TILES_N));
  const i32 batch = i32(block / (TILES_M * TILES_N));
  const i32 band_start = in_batch / (band * TILES_N) * band;
  const i32 band_rows = TILES_M - band_start < band ? TILES_M - band_start : band;
  const i32 in_band = in_batch % (band * TILES_N);
  const i32 row0 = (band_start + in_band % band_rows) * BLOCK_M;
  const i32 col0 = in_band / band_rows * BLOCK_N;
  const i32 thread_row = thread / THREADS_N * THREAD_M;
  const i32 thread_part = thread % THREADS_N;

  ACC acc[THREAD_M][THREAD_N];
#if FOLD_TILES
  ACC total[THREAD_M][THREAD_N];
#endif
#pragma unroll
  for (i32 i = 0; i < THREAD_M; ++i) {
#pragma unroll
    for (i32 j = 0; j < THREAD_N; ++j) {
      acc[i][j] = ACC(0);
#if FOLD_TILES
      total[i][j] = ACC(0);
#endif
    }
  }

  WORD next_a[A_STEPS][A_WORDS];
  WORD next_b[B_STEPS][B_WORDS];

// One operand's words at (at, k), both counted in moves, through its hook.
#if PACK == 1
#define LOAD(load, WORDS, VECTOR, ALONG_K, at, k, to) load(TCC_BUFFERS batch, at, k, to)
#else
#define LOAD(load, WORDS, VECTOR, ALONG_K, at, k, to)                                          \
  _Pragma("unroll") for (i32 w = 0; w < WORDS; ++w) to[w] = 0;                                 \
  _Pragma("unroll") for (i32 part = 0; part < WORDS * PACK / VECTOR; ++part) {                 \
    ACC bytes[VECTOR];                                                                         \
    if (ALONG_K != 0)                                                                          \
      load(TCC_BUFFERS batch, at, (k) * (WORDS * PACK / VECTOR) + part, bytes);                \
    else                                                                                       \
      load(TCC_BUFFERS batch, at, (k) * PACK + part, bytes);                                   \
    _Pragma("unroll") for (i32 v = 0; v < VECTOR; ++v) {                                       \
      const i32 byte = ALONG_K != 0 ? part * VECTOR + v : part;                                \
      to[ALONG_K != 0 ? byte / PACK : v] |= (u32(bytes[v]) & 0xffu) << byte % PACK * 8;        \
    }                                                                                          \
  }
#endif

#define FETCH(k0)                                                                              \
  _Pragma("unroll") for (i32 s = 0; s < A_STEPS; ++s) {                                        \
    const i32 n = thread + s * WORKGROUP;                                                      \
    if (A_MOVES % WORKGROUP == 0 || n < A_MOVES) {                                             \
      const i32 at = A_ALONG_K != 0 ? row0 + n / A_PER_K : row0 / A_WORDS + n % A_PER_M;       \
      const i32 k = A_ALONG_K != 0 ? (k0) / A_WORDS + n % A_PER_K : (k0) + n / A_PER_M;        \
      LOAD(load_a, A_WORDS, A_VECTOR, A_ALONG_K, at, k, next_a[s]);                            \
    }                                                                                          \
  }                                                                                            \
  _Pragma("unroll") for (i32 s = 0; s < B_STEPS; ++s) {                                        \
    const i32 n = thread + s * WORKGROUP;                                                      \
    if (B_MOVES % WORKGROUP == 0 || n < B_MOVES) {                                             \
      const i32 at = B_ALONG_K != 0 ? col0 + n / B_PER_K : col0 / B_WORDS + n % B_PER_N;       \
      const i32 k = B_ALONG_K != 0 ? (k0) / B_WORDS + n % B_PER_K : (k0) + n / B_PER_N;        \
      LOAD(load_b, B_WORDS, B_VECTOR, B_ALONG_K, at, k, next_b[s]);                            \
    }                                                                                          \
  }

#define PUT(slot)                                                                              \
  _Pragma("unroll") for (i32 s = 0; s < A_STEPS; ++s) {                                        \
    const i32 n = thread + s * WORKGROUP;                                                      \
    if (A_MOVES % WORKGROUP == 0 || n < A_MOVES) {                                             \
      _Pragma("unroll") for (i32 v = 0; v < A_WORDS; ++v) {                                    \
        if (A_ALONG_K != 0)                                                                    \
          tile_a[slot][(n % A_PER_K * A_WORDS + v) * STRIDE_A + n / A_PER_K] = next_a[s][v];   \
        else                                                                                   \
          tile_a[slot][n / A_PER_M * STRIDE_A + n % A_PER_M * A_WORDS + v] = next_a[s][v];     \
      }                                                                                        \
    }                                                                                          \
  }                                                                                            \
  _Pragma("unroll") for (i32 s = 0; s < B_STEPS; ++s) {                                        \
    const i32 n = thread + s * WORKGROUP;                                                      \
    if (B_MOVES % WORKGROUP == 0 || n < B_MOVES) {                                             \
      _Pragma("unroll") for (i32 v = 0; v < B_WORDS; ++v) {                                    \
        if (B_ALONG_K != 0)                                                                    \
          tile_b[slot][(n % B_PER_K * B_WORDS + v) * STRIDE_B + n / B_PER_K] = next_b[s][v];   \
        else                                                                                   \
          tile_b[slot][n / B_PER_N * STRIDE_B + n % B_PER_N * B_WORDS + v] = next_b[s][v];     \
      }                                                                                        \
    }                                                                                          \
  }

  FETCH(0)
  PUT(0)
  __syncthreads();
  for (i32 tile = 0; tile < K_TILES; ++tile) {
    const i32 slot = tile & 1;
    const bool more = tile + 1 < K_TILES;
    if (more) { FETCH((tile + 1) * BLOCK_K) }
#pragma unroll
    for (i32 k = 0; k < BLOCK_K; ++k) {
      WORD a[THREAD_M];
      WORD b[THREAD_N];
#pragma unroll
      for (i32 i = 0; i < THREAD_M; ++i) a[i] = tile_a[slot][k * STRIDE_A + thread_row + i];
      // Segments of one thread lie THREADS_N segments apart: a warp reads neighbouring addresses.
#pragma unroll
      for (i32 j = 0; j < THREAD_N; ++j)
        b[j] = tile_b[slot][k * STRIDE_B + (j / SEGMENT * THREADS_N + thread_part) * SEGMENT + j % SEGMENT];
#pragma unroll
      for (i32 i = 0; i < THREAD_M; ++i)
#pragma unroll
        for (i32 j = 0; j < THREAD_N; ++j) acc[i][j] = MULTIPLY_ADD(a[i], b[j], acc[i][j]);
    }
#if FOLD_TILES
    if (tile % FOLD_TILES == FOLD_TILES - 1) {
#pragma unroll
      for (i32 i = 0; i < THREAD_M; ++i)
#pragma unroll
        for (i32 j = 0; j < THREAD_N; ++j) {
          total[i][j] += acc[i][j];
          acc[i][j] = ACC(0);
        }
    }
#endif
    if (more) { PUT(1 - slot) }
    __syncthreads();
  }

#pragma unroll
  for (i32 i = 0; i < THREAD_M; ++i) {
#pragma unroll
    for (i32 s = 0; s < SEGMENTS; ++s) {
      ACC part[SEGMENT];
#pragma unroll
      for (i32 j = 0; j < SEGMENT; ++j) {
        part[j] = acc[i][s * SEGMENT + j];
#if FOLD_TILES
        part[j] += total[i][s * SEGMENT + j];
#endif
      }
      epilogue(TCC_BUFFERS batch, row0 + thread_row + i, col0 / SEGMENT + s * THREADS_N + thread_part, part);
    }
  }
}
