// The parts of matrix kernels make other kernels than those that they were taken from: they ask for
// no parameters but their own. Compiled, not run.
#include <gtest/gtest.h>

#include <string>

#include "backends/compile/nvrtc.h"
#include "tests/cubin.h"
#include "tests/cuda_parts.h"

namespace tcc::backends {
namespace {

using test::compile_parts;

// Two products in a row, as attention has them: the first one's sums become an operand of the
// second. Keys and values come through one pipeline, queries through another.
TEST(MatrixParts, MakeTwoProductsInARowOnSm90) {
  if (const std::string missing = nvrtc_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const std::vector<uint8_t> code = compile_parts(R"(
#include "sm90_computed.cuh"
#include "sm90_mainloop.cuh"
#include "sm90_epilogue.cuh"

// 64 queries and 64 keys at a time of 64 elements, values of 128: bf16, sums in f32.
WGMMA_COLUMNS(64)
WGMMA_COLUMNS(128)
using Scores = Wgmma<Element::bf16, Element::bf16, true, true, Sum::f32, 64>;
using Results = Wgmma<Element::bf16, Element::bf16, true, false, Sum::f32, 128>;
constexpr i32 TILES = 32, TILE = 64 * 128;  // a tile of 64 rows of 128 bytes
using Queries = Pipeline<1, TILE>;
using Keys = Pipeline<3, 3 * TILE>;  // a tile of keys, and two boxes of values
using Staged = Staging<f32, 8, 8, false>;
extern __shared__ __align__(1024) u8 shared_memory[];

extern "C" __global__ void __launch_bounds__(256, 1) chain(f32* out, const __grid_constant__ TensorMap q,
                                                           const __grid_constant__ TensorMap k,
                                                           const __grid_constant__ TensorMap v) {
  const i32 thread = i32(threadIdx.x), warp = __shfl_sync(~0u, thread / 32, 0), lane = thread % 32;
  const i32 row0 = i32(blockIdx.x) * 64;
  const u32 memory = (tcc_cuda_shared(shared_memory) + 1023) & ~1023u;
  const u32 scores_at = memory + 10 * TILE, staging = scores_at + TILE;
  const u32 barriers = staging + 4 * sizeof(Staged::Storage);
  Queries queries(memory, barriers);
  Keys keys(memory + TILE, barriers + sizeof(Queries::Barriers));
  if (thread == 0) {
    queries.init(1, 4);
    keys.init(1, 4);
    barrier_init_done();
  }
  __syncthreads();
  const auto no_batch = [](i32, i32 (&)[3]) {};
  if (warp < 4) {
    if (warp != 0) return;
    const TiledOperand<2, Element::bf16, true, 64, 1> of_q(q, 0, 1, 0, row0, no_batch);
    if (elect_lane()) {
      barrier_arrive_expect(queries.full_barrier(), of_q.copied_bytes);
      of_q.copy(queries.tile(), queries.full_barrier(), 0);
    }
    for (i32 tile = 0; tile < TILES; ++tile) {
      const TiledOperand<2, Element::bf16, true, 64, 1> of_k(k, 0, 1, 0, tile * 64, no_batch);
      const TiledOperand<2, Element::bf16, false, 128, 1> of_v(v, 0, 1, 0, 0, no_batch);
      keys.wait_until_empty();
      if (elect_lane()) {
        barrier_arrive_expect(keys.full_barrier(), of_k.copied_bytes + of_v.copied_bytes);
        of_k.copy(keys.tile(), keys.full_barrier(), 0);
        of_v.copy(keys.tile() + TILE, keys.full_barrier(), tile * 64);
      }
      keys.advance(1);
    }
    return;
  }
  const Release<1> release(keys.empty, lane, 0);
  f32 acc[1][Results::SUMS], scores[1][Scores::SUMS];
  queries.wait_until_full();
  for (i32 tile = 0; tile < TILES; ++tile) {
    keys.wait_until_full();
    wgmma_fence();
    multiply_tile<Scores>(scores, Scores::describe_a(queries.tile()), Scores::describe_b(keys.tile()), false);
    wgmma_commit();
    wgmma_wait<0>();
    settle<Scores>(scores);
#pragma unroll
    for (i32 e = 0; e < 8; ++e)
#pragma unroll
      for (i32 half = 0; half < 2; ++half)
        store_shared(scores_at + tile_offset<Element::bf16, true>(warp % 4 * 16 + half * 8 + lane / 4, e * 8 + lane % 4 * 2),
                     pack_elements<Element::bf16>(scores[0][e * 4 + half * 2], scores[0][e * 4 + half * 2 + 1]));
    fence_async_proxy();
    named_barrier_sync(1, 128);
    wgmma_fence();
    multiply_tile<Results>(acc, Results::describe_a(scores_at), Results::describe_b(keys.tile() + TILE), tile != 0);
    wgmma_commit();
    wgmma_wait<0>();
    release(keys.stage);
    keys.advance(1);
  }
  settle<Results>(acc);
  const auto nothing = [](f32 (&)[4], i32, i32) {};
  const auto store = [&](i32 row, i32 column, const f32 (&sums)[8]) {
    for (i32 i = 0; i < 8; ++i) out[(row0 + warp % 4 * 16 + row) * 128 + column + i] = sums[i];
  };
  NoStrips strips(0, 0, 0, 0, 0);
  store_sums<Results, Staged, EpilogueSteps<1, 16, 16, 1, 8>, 8>(acc, staging + warp % 4 * sizeof(Staged::Storage), 0, lane, strips,
                                                        nothing, store);
}
)",
                                                  "sm_90a");
  EXPECT_EQ(test::frame_bytes(code), 0);
}

// An operand of another kind beside those of sm80_operand.cuh: it only has to fetch and store.
TEST(MatrixParts, TakeAnotherKindOfOperandOnSm80) {
  if (const std::string missing = nvrtc_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const std::vector<uint8_t> code = compile_parts(R"(
#include "sm80_mainloop.cuh"
#include "sm80_epilogue.cuh"

// Elements that are computed from their places alone.
struct Identity {
  using Tile = SharedTile<Element::f16, true, 64, 32>;
  i32 thread;
  __device__ __forceinline__ void fetch(i32, u32, i32) {}
  __device__ __forceinline__ void store(i32 tile, unsigned char* slot, i32 piece) const {
    each_vector<Tile, 2, 128, 2>(thread, piece, [&](i32, i32 row, i32 column) {
      const i32 k = tile * 32 + column;
      *(u32*)(slot + Tile::offset(row, column)) = pack_elements<Element::f16>(row == k, row == k + 1);
    });
  }
};

extern "C" __global__ void __launch_bounds__(128) product(f32* out) {
  extern __shared__ __align__(128) unsigned char memory[];
  const i32 thread = i32(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const i32 warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
  Identity a{thread}, b{thread};
  f32 acc[2][4][4] = {};
  multiply<Element::f16, Element::f16, 3, 2>(acc, a, b, Size<8>(8), memory, warp_m, warp_n, lane);
  __syncthreads();
  store_sums<8, false>(acc, memory, warp, lane, [&](i32 row, i32 column, const f32 (&sums)[8]) {
    for (i32 i = 0; i < 8; ++i) out[(warp_m + row) * 64 + warp_n + column + i] = sums[i];
  });
}
)",
                                                  "sm_80");
  EXPECT_EQ(test::frame_bytes(code), 0);
}

}  // namespace
}  // namespace tcc::backends
