// Matrix products on mma.sync tensor cores, sm_80 and later: out[row, col] = sum over k of A[row, k] * B[k, col], per
// batch. 16-bit operands or tf32, f32 accumulators; bytes, 32-bit integers that wrap.
//
// A workgroup computes a block_m x block_n tile, a warp (block_m / warps_m) x (block_n / warps_n) of it. Tiles of A and
// B come to shared memory (sm80_operand.cuh), are multiplied (sm80_mainloop.cuh) and stored (sm80_epilogue.cuh). With
// split_k so many workgroups, one behind another by the number of tiles, share the k of one tile (sm80_exchange.cuh).
//
// The constant `params` is a GemmSm80 (gemm_sm80_shape.h). Sizes that come at run time are SIZE_M, SIZE_N and SIZE_K, and
// then TILES is the number of tiles. Hooks, by how an operand x is loaded:
//   tiles     vector_x(buffers, batch, at, k): the offset of a vector, in elements
//   im2col    vector_x(buffers, batch, at, k): the number of a vector of pixel `at`, the sum of what `at` and `k` add;
//             inside_x(buffers, batch, at, k): whether it is in the image, others are zeros
//   computed  load_x(buffers, batch, at, k, v): computes a vector of elements as accumulators; guards itself. Those of
//             bytes may run across k (vector_along_k false: `at` counts vectors), and are turned on their way.
//   rows      row_x(buffers, batch, line): the offset of a line's first element
// major_k: memory is contiguous along k; `at` is a row (of B: a column), `k` counts vectors, a line is a row. Otherwise
// it is contiguous along m (of B: n); `at` counts vectors, `k` is an element of k, a line is one k.
// epilogue(buffers, batch, row, part, acc) gets `segment` neighbouring columns from segment * part on, and guards itself;
// where swapped, neighbouring rows of column `row`: the operands have changed sides, so that results lie along m.
#include "../common/gemm_sm80_shape.h"
#include "matrix.cuh"
#include "tile_order.cuh"
#include "sm80_mainloop.cuh"
#include "sm80_epilogue.cuh"
#include "sm80_exchange.cuh"

#ifndef TCC_ENTRY  // compiled after the prelude alone, with hooks that do the least
#define INDEX i32
#define WORKGROUP 128
#define GRID 64
constexpr GemmSm80 example() {
  GemmSm80 p;
  p.product.m = p.product.n = p.product.k = 1024;
  p.product.segment = p.product.a.vector = p.product.b.vector = 8;
  p.product.b.buffer = 1;
  p.band = 8;
  return p;
}
constexpr GemmSm80 params = example();
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) gemm(const u16* b0, const u16* b1, f32* b2)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
static __device__ __forceinline__ i64 vector_a(const u16* b0, const u16* b1, f32* b2, i32 batch, i32 at, i32 k) {
  return at * 1024 + k * 8;
}
static __device__ __forceinline__ i64 vector_b(const u16* b0, const u16* b1, f32* b2, i32 batch, i32 at, i32 k) {
  return at * 1024 + k * 8;
}
static __device__ __forceinline__ void epilogue(const u16* b0, const u16* b1, f32* b2, i32 batch, i32 row, i32 part,
                                                const f32 (&acc)[8]) {
  for (i32 i = 0; i < 8; ++i) b2[row * 1024 + part * 8 + i] = acc[i];
}
#endif

constexpr Product product = params.product;
constexpr i32 WARP_M = sm80::warp_m(params), WARP_N = sm80::warp_n(params);
constexpr i32 FRAGMENTS_M = WARP_M / 16, FRAGMENTS_N = WARP_N / 8;
constexpr i32 K_STEPS = params.line_bytes / 32;  // an mma takes 32 bytes of a tile's k

#ifdef TILES
using TileNumber = i32;
#else
using TileNumber = INDEX;
#define TILES INDEX(sm80::tiles(params))
static_assert(GRID == sm80::workgroups(params, sm80::tiles(params)), "the launch is that of the params");
#endif
constexpr i32 SPLIT_K = params.split_k;
static_assert(WORKGROUP == sm80::threads(params), "the launch is that of the params");
static_assert(sm80::legal_warps(params), "warp tiles are multiples of 16 x 16");
static_assert(sm80::legal_operand(product.a) && sm80::legal_operand(product.b), "bytes are K-major");
static_assert(K_STEPS == 2 || K_STEPS == 4, "a tile has 64 or 128 bytes of k");

// The facts of an operand that are known when the kernel is compiled.
struct SideA {
  static constexpr Operand operand = product.a;
  static constexpr Sum sum = product.sum;
  static constexpr i32 block = params.block_m, block_k = sm80::block_k(params);
  using Free = Size<product.m>;
  using K = Size<product.k>;
  static constexpr i32 threads = WORKGROUP, pieces = K_STEPS, taps = params.taps;
};
struct SideB {
  static constexpr Operand operand = product.b;
  static constexpr Sum sum = product.sum;
  static constexpr i32 block = params.block_n, block_k = sm80::block_k(params);
  using Free = Size<product.n>;
  using K = Size<product.k>;
  static constexpr i32 threads = WORKGROUP, pieces = K_STEPS, taps = params.taps;
};
using Acc = SumType<product.sum>;
static_assert(params.stages * (Place<SideA>::Tile::BYTES + Place<SideB>::Tile::BYTES) == sm80::stages_bytes(params),
              "the host knows the storage");

TCC_ENTRY {
  TCC_BEGIN
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  const i32 thread = i32(TCC_THREAD), warp = thread / 32, lane = thread % 32;
  const INDEX block = INDEX(TCC_BLOCK);
  const i32 parts = SPLIT_K > 1 ? i32(sm80::parts(params, TILES)) : 1;
  if (block >= TILES * parts) return;
  const i32 part = SPLIT_K > 1 ? i32(block / TILES) : 0;
  const TileNumber number = TileNumber(block - part * TILES);
  const TilePlace tile = tile_place<params.band, product.batches == 1>(number, tiles_along(SIZE_M, params.block_m),
                                                                       tiles_along(SIZE_N, params.block_n));
  const i32 row0 = tile.row * i32(params.block_m), col0 = tile.column * i32(params.block_n);
  const i32 warp_m = warp / i32(params.warps_n) * WARP_M, warp_n = warp % i32(params.warps_n) * WARP_N;

  const auto hooks_a = OPERAND_HOOKS(a, product.a.buffer);
  const auto hooks_b = OPERAND_HOOKS(b, product.b.buffer);
  const Size<sm80::k_tiles(params)> k_tiles(tiles_along(SIZE_K, sm80::block_k(params)));
  const i32 k_begin = k_tiles * part / parts, k_end = k_tiles * (part + 1) / parts;
  auto operand_a = operand_at<SideA>(hooks_a, thread, row0, tile.batch, SIZE_M, SIZE_K, k_begin);
  auto operand_b = operand_at<SideB>(hooks_b, thread, col0, tile.batch, SIZE_N, SIZE_K, k_begin);
  Acc acc[FRAGMENTS_M][FRAGMENTS_N][4];
#pragma unroll
  for (i32 i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
    for (i32 j = 0; j < FRAGMENTS_N; ++j)
#pragma unroll
      for (i32 v = 0; v < 4; ++v) acc[i][j][v] = Acc(0);
  auto multiply_tiles = [&](auto& a, auto& b, auto tiles) {
    multiply<product.a.element, product.b.element, params.stages, K_STEPS>(acc, a, b, tiles, shared_bytes, warp_m, warp_n,
                                                                           lane);
  };
  if constexpr (SPLIT_K > 1) {
    FromTile<decltype(operand_a)> part_a{operand_a, k_begin};
    FromTile<decltype(operand_b)> part_b{operand_b, k_begin};
    multiply_tiles(part_a, part_b, Size<0>(k_end - k_begin));
  } else {
    multiply_tiles(operand_a, operand_b, k_tiles);
  }
  __syncthreads();  // other warps may still read the last tile, whose place the results take

  // Lines and columns of the workgroup's tile, as results lie, and those of this warp.
  const i32 first_line = product.swapped ? col0 : row0, first_column = product.swapped ? row0 : col0;
  const i32 warp_line = product.swapped ? warp_n : warp_m, warp_column = product.swapped ? warp_m : warp_n;
  auto store = [&](i32 line, i32 column, const Acc(&v)[product.segment]) {
    epilogue(TCC_BUFFERS tile.batch, first_line + line, (first_column + column) / i32(product.segment), v);
  };
  if (SPLIT_K > 1 && parts > 1) {
    constexpr i32 LINES = product.swapped ? params.block_n : params.block_m,
                  COLUMNS = product.swapped ? params.block_m : params.block_n;
    using Sums = SharedTileSums<Acc, LINES, COLUMNS, product.segment, SPLIT_K, WORKGROUP>;
    typename Sums::Few* const scratch = (typename Sums::Few*)buffer_at<params.sums>(TCC_BUFFERS nullptr);
    u32* const arrivals = (u32*)buffer_at<params.sums + 1>(TCC_BUFFERS nullptr);
    const Sums sums{scratch + i64(number) * parts * (LINES * COLUMNS / Sums::WIDTH), arrivals + number, parts};
    auto put = [&](i32 line, i32 column, const Acc(&v)[product.segment]) {
      sums.put(part, warp_line + line, warp_column + column, v);
    };
    store_sums<product.segment, product.swapped>(acc, shared_bytes, warp, lane, put);
    sums.run(part, thread, (u32*)shared_bytes, store);
  } else {
    store_sums<product.segment, product.swapped>(
        acc, shared_bytes, warp, lane, [&](i32 line, i32 column, const Acc(&v)[product.segment]) {
          store(warp_line + line, warp_column + column, v);
        });
  }
}
