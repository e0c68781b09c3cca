// Steps of a recurrent layer: common/recurrent.inc.
#ifndef STEPS  // compiled after the prelude alone, with default parameters and hooks that do the least
#define INDEX i32
#define STEPS 4
#define BATCH 3
#define HIDDEN 10
#define GATES 4
#define FIRST_GATES 4
#define STATES 2
#define REVERSE 0
#define LENGTHS 1
#define STORE_OUT 1
#define QUANTIZED 0
#define ROWS 2
#define GROUPS 2
#define UNITS 10
#define PARTS 1
#define EXCHANGE 0
#define INITIAL 0
#define MATRIX 0
#define SHARES 2
#define THREAD_COLUMNS 2
#define THREAD_ROWS 1
#define WEIGHTS 0
#define W_VECTOR 2
#define WORKGROUP 64
#define GRID 2
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) recurrent(const f32* b0, const f32* b1, f32* b2)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
#define BUFFERS const f32 *b0, const f32 *b1, f32 *b2,
#define HOOK static __device__ __forceinline__
HOOK void load_x(BUFFERS i32 direction, i32 t, i32 row, i32 unit, f32 (&v)[4]) {
  for (i32 i = 0; i < 4; ++i) v[i] = b0[(t * BATCH + row) * 40 + i * HIDDEN + unit];
}
HOOK void load_w(BUFFERS i32 direction, i32 row, i32 k, f32 (&v)[2]) {
  for (i32 i = 0; i < 2; ++i) v[i] = b1[row * HIDDEN + k * 2 + i];
}
HOOK void initial(BUFFERS i32 direction, i32 row, i32 unit, f32 (&v)[2]) { v[0] = v[1] = 0.0f; }
HOOK i32 length(BUFFERS i32 row) { return STEPS; }
HOOK void cell(BUFFERS i32 direction, i32 unit, const f32 (&x)[4], const f32 (&p)[4], const f32 (&state)[2],
               f32 (&next)[2]) {
  next[1] = state[1] + x[0] + p[0];
  next[0] = next[1] * (x[1] + p[1]);
}
HOOK void store_out(BUFFERS i32 direction, i32 t, i32 row, i32 unit, const f32 (&v)[1]) {
  b2[(t * BATCH + row) * HIDDEN + unit] = v[0];
}
HOOK void store_last(BUFFERS i32 direction, i32 row, i32 unit, const f32 (&v)[2]) {}
HOOK f32 rounded(BUFFERS const f32 (&v)[1]) { return v[0]; }
#endif

#include "../common/recurrent_forms.inc"

#define TCC_UNROLL _Pragma("unroll")
#define TCC_UNROLL_4 _Pragma("unroll 4")  // loads of four iterations are on their way at once
#define TCC_BARRIER __syncthreads();
#define TCC_POOL extern __shared__ __align__(16) f32 pool[];

// A group's workgroups of all PARTS wait for each other: each adds 1 to the group's counter when its part of h is in memory (a
// barrier of the workgroup before it and the release make it seen), and one thread reads the counter until all of them did so
// `times` times (the acquire and a barrier behind it make all h seen). Counters lie 128 bytes apart.
#define TCC_ARRIVE                                                                                                 \
  if (thread == 0)                                                                                                 \
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(COUNTERS + (direction * GROUPS + group) * 32)     \
                 : "memory");
#define TCC_AWAIT(times)                                                                                           \
  if (thread == 0) {                                                                                               \
    u32 arrived;                                                                                                   \
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"                                                          \
                    : "=r"(arrived) : "l"(COUNTERS + (direction * GROUPS + group) * 32) : "memory");               \
    while (arrived < u32(PARTS) * u32(times));                                                                     \
  }

#if MATRIX
#include "mma.cuh"

// Products on mma.sync: 16 columns of weights by 16 k times 16 k by 8 rows of h. A tile with columns of both products of a step is
// multiplied in both, and each has its own gates' sums. The order of k within 32 is one in which a
// thread's parts of two products are 16 neighbouring bytes, of weights and h alike. Warps share k: a warp has every WARPS-th
// 32 of it, for all columns and rows. KEPT_TILES of TILES_M 16 columns are in registers, the others in shared memory, or, with
// WEIGHTS == IN_MEMORY, all are read at each step.
#define WARPS (WORKGROUP / 32)
#define TILES_M ((COLUMNS + 15) / 16)
#define TILES_N (ROWS / 8)
#define BLOCKS ((HIDDEN + 31) / 32)
#define WARP_BLOCKS ((BLOCKS + WARPS - 1) / WARPS)
#define SUM_STRIDE (TILES_M * 16 + 4)  // threads of a warp write different banks
#define SHARES WARPS
#define HAS_TILE(product, m) ((m) * 16 < TO(product) && (m) * 16 + 16 > FROM(product))
#define SHARED_TILES (WEIGHTS == IN_MEMORY ? 0 : TILES_M - KEPT_TILES)
#define MATRIX_WORDS (SHARED_TILES * BLOCKS * 256)
#if BF16
#define PAIR "cvt.rn.bf16x2.f32 %0, %1, %2;"
#define ELEMENT Element::bf16
#else
#define PAIR "cvt.rn.f16x2.f32 %0, %1, %2;"
#define ELEMENT Element::f16
#endif

// Two neighbours as a register of the matrix units.
TCC_FN u32 pair(f32 first, f32 second) {
  u32 both;
  asm(PAIR : "=r"(both) : "f"(second), "f"(first));
  return both;
}

// A thread's weights of 16 columns and 32 k, for two products.
#define READ_TILE(tile, block32, a)                                                                                \
  TCC_UNROLL for (i32 half = 0; half < 2; ++half) {                                                                \
    f32 eight[8];                                                                                                  \
    i32 column = (tile) * 16 + half * 8 + lane / 4;                                                                \
    TCC_UNROLL for (i32 q = 0; q < 8 / W_VECTOR; ++q) {                                                            \
      i32 k = (block32) * 32 + lane % 4 * 8 + q * W_VECTOR;                                                        \
      f32 some[W_VECTOR];                                                                                          \
      READ_WEIGHTS(column, k, some)                                                                                \
      TCC_UNROLL for (i32 e = 0; e < W_VECTOR; ++e) eight[q * W_VECTOR + e] = some[e];                             \
    }                                                                                                              \
    TCC_UNROLL for (i32 n = 0; n < 2; ++n) {                                                                       \
      a[n][half] = pair(eight[n * 4], eight[n * 4 + 1]);                                                           \
      a[n][half + 2] = pair(eight[n * 4 + 2], eight[n * 4 + 3]);                                                   \
    }                                                                                                              \
  }
#define SHARED_TILE(tile, block32, n) ((uint4*)(pool + WEIGHTS_AT))[(((tile) * BLOCKS + (block32)) * 2 + (n)) * 32 + lane]

#if WEIGHTS == IN_MEMORY
#define MATRIX_KEEP i32 lane = thread % 32, warp = thread / 32;
#else
#define MATRIX_KEEP                                                                                                \
  i32 lane = thread % 32, warp = thread / 32;                                                                      \
  u32 kept[KEPT_TILES + 1][WARP_BLOCKS][2][4];                                                                     \
  TCC_UNROLL for (i32 b = 0; b < WARP_BLOCKS; ++b) {                                                               \
    i32 block32 = b * WARPS + warp;                                                                                \
    TCC_UNROLL for (i32 m = 0; m < KEPT_TILES; ++m) READ_TILE(m, block32, kept[m][b])                              \
    for (i32 m = 0; m < SHARED_TILES && block32 < BLOCKS; ++m) {                                                   \
      u32 a[2][4];                                                                                                 \
      READ_TILE(KEPT_TILES + m, block32, a)                                                                        \
      TCC_UNROLL for (i32 n = 0; n < 2; ++n)                                                                       \
        SHARED_TILE(m, block32, n) = make_uint4(a[n][0], a[n][1], a[n][2], a[n][3]);                               \
    }                                                                                                              \
  }
#endif

// A warp reads the shared weights that it wrote. h comes from the cache that all SMs share.
#define MATRIX_PRODUCT                                                                                             \
  {                                                                                                                \
    f32 acc[TILES_M][TILES_N][4] = {};                                                                             \
    const u16* rows_h = (const u16*)EXCHANGED +                                                                    \
                        (i64((product == 0 ? step % 2 : 2) * DIRECTIONS + direction) * (GROUPS * ROWS) + row0 +    \
                         lane / 4) * WIDTH_H +                                                                     \
                        lane % 4 * 8;                                                                              \
    TCC_UNROLL for (i32 first_b = 0; first_b < WARP_BLOCKS; first_b += TOGETHER) {                                 \
      uint4 h[TOGETHER][TILES_N];                                                                                  \
      TCC_UNROLL for (i32 b = 0; b < TOGETHER; ++b) {                                                              \
        i32 block32 = (first_b + b) * WARPS + warp;                                                                \
        TCC_UNROLL for (i32 n = 0; n < TILES_N; ++n)                                                               \
          if (first_b + b < WARP_BLOCKS && block32 < BLOCKS)                                                       \
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"                                             \
                         : "=r"(h[b][n].x), "=r"(h[b][n].y), "=r"(h[b][n].z), "=r"(h[b][n].w)                      \
                         : "l"(rows_h + n * 8 * WIDTH_H + block32 * 32) : "memory");                               \
      }                                                                                                            \
      TCC_UNROLL for (i32 b = 0; b < TOGETHER; ++b) {                                                              \
        i32 block32 = (first_b + b) * WARPS + warp;                                                                \
        if (first_b + b < WARP_BLOCKS && block32 < BLOCKS) {                                                       \
          TCC_UNROLL for (i32 m = 0; m < TILES_M; ++m) if (HAS_TILE(product, m)) {                                 \
            u32 a[2][4];                                                                                           \
            TAKE_TILE(m, first_b + b, block32, a)                                                                  \
            TCC_UNROLL for (i32 n = 0; n < TILES_N; ++n) {                                                         \
              const u32 first[2] = {h[b][n].x, h[b][n].y}, second[2] = {h[b][n].z, h[b][n].w};                     \
              mma<ELEMENT, ELEMENT>(acc[m][n], a[0], first);                                                       \
              mma<ELEMENT, ELEMENT>(acc[m][n], a[1], second);                                                      \
            }                                                                                                      \
          }                                                                                                        \
        }                                                                                                          \
      }                                                                                                            \
    }                                                                                                              \
    TCC_UNROLL for (i32 m = 0; m < TILES_M; ++m) if (HAS_TILE(product, m))                                         \
      TCC_UNROLL for (i32 n = 0; n < TILES_N; ++n)                                                                 \
        TCC_UNROLL for (i32 i = 0; i < 4; ++i)                                                                     \
          pool[(warp * ROWS + n * 8 + lane % 4 * 2 + i % 2) * SUM_STRIDE + m * 16 + i / 2 * 8 + lane / 4] =        \
              acc[m][n][i];                                                                                        \
  }
#if WEIGHTS == IN_MEMORY
#define TAKE_TILE(m, number, block32, a) READ_TILE(m, block32, a)
#else
#define TAKE_TILE(m, number, block32, a)                                                                           \
  TCC_UNROLL for (i32 n = 0; n < 2; ++n) {                                                                         \
    if (m < KEPT_TILES) {                                                                                          \
      TCC_UNROLL for (i32 i = 0; i < 4; ++i) a[n][i] = kept[m < KEPT_TILES ? m : 0][number][n][i];                 \
    } else {                                                                                                       \
      const uint4 some = SHARED_TILE(m - KEPT_TILES, block32, n);                                                  \
      a[n][0] = some.x, a[n][1] = some.y, a[n][2] = some.z, a[n][3] = some.w;                                      \
    }                                                                                                              \
  }
#endif
#endif
#include "../common/recurrent.inc"
