// Matrix products on sm_90a: out[row, col] = sum over k of A[row, k] * B[k, col], per batch.
//
// Persistent and warp specialised: warpgroup 0 fills a ring of tiles in shared memory (sm90_producer.cuh), the others
// multiply from there (sm90_mainloop.cuh), exchange sums where workgroups share k (sm90_exchange.cuh), and store
// (sm90_epilogue.cuh). A tile is block_m x block_n; its k tiles are 128 bytes long. Groups share a tile's rows; with
// pingpong each of two groups has tiles of its own, and one group's epilogue runs under the other's products.
// cluster_m x cluster_n neighbouring tiles belong to a cluster, which loads their common rows and columns once
// (multicast). Alternatively split_k workgroups of a cluster share the k of one tile: each adds up and stores a part of
// its columns, whose sums the others send it, in a fixed order.
//
// The constant `params` is a GemmSm90 (gemm_sm90_shape.h), and the macro WGMMA_N is its block_n; WGMMA_HIGH_A and
// WGMMA_HIGH_B say how the tiles lie where rows have no 128 bytes. Hooks, where operands
// need them:
//   load_x(buffers, batch, at, k, v)   computes elements of operand x
//   row_x(buffers, batch, line)        the offset of a row's first element; rows are equally spaced
//   batch_x(buffers, batch, c)         coordinates of a batch in the tensor map; of an image, its first channel
//   batch_residual, batch_residual_2   the same of residuals
// epilogue(buffers, batch, row, part, acc) gets `segment` neighbouring columns from segment * part on, and guards itself;
// lanes have neighbouring ones. Those of residuals that come by strips (sm90_strips.cuh) follow acc. Swapped: the kernel's
// rows are the result's columns: `row` is a column here, and the segments run along the rows.
//
// TCC_MAPS are the tensor maps of the operands that TMA copies, A's first: 128-byte swizzle, zeros out of bounds,
// dimensions (k, m, batch...) if major_k, else (m, k, batch...). Boxes, with rows = rows_a (of B: rows_b) and
// share = cluster_n (cluster_m):
//   K-major    {block_k, rows / share, 1...}, clipped to the rows of the operand, rounded up to 8, where they are open
//   MN-major   {64, 64 / share, 1...}: all k of a tile in `share` slices, rows / 64 boxes
// An image's map is of kind im2col: `piece` bytes of rows / share pixels. Where taps end inside of pieces, the other map has
// the taps after its first two dimensions, channels instead of k, and boxes of `piece` bytes of k, or of as many channels.
// Those of residuals follow: dimensions (column, row, batch...) of the result, no swizzle, and boxes of a strip.
#include "../common/gemm_sm90_shape.h"
#include "matrix.cuh"
#include "tile_order.cuh"
#include "sm90_producer.cuh"
#include "sm90_mainloop.cuh"
#include "sm90_fma.cuh"
#include "sm90_exchange.cuh"
#include "sm90_epilogue.cuh"
#include "sm90_strips.cuh"

#ifndef TCC_ENTRY  // compiled after the prelude alone, with hooks that do the least
#define INDEX i32
#define WORKGROUP 384
#define GRID 132
constexpr GemmSm90 example() {
  GemmSm90 p;
  p.product.m = p.product.n = p.product.k = 4096;
  p.product.segment = 8;
  p.block_n = 256;
  p.cluster_m = 2;
  p.band = 8;
  p.stages = 4;
  p.clusters = 66;
  return p;
}
constexpr GemmSm90 params = example();
#define WGMMA_N 256
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP, 1) __cluster_dims__(2) gemm(f32* __restrict__ b0, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b)
#define TCC_RELEASE
#define TCC_WAIT
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0,
#define TCC_MAPS &map_a, &map_b,
static __device__ __forceinline__ void epilogue(f32* b0, i32 batch, i32 row, i32 part, const f32 (&acc)[8]) {
  if (row >= 4096 || part * 8 >= 4096) return;
  for (i32 i = 0; i < 8; ++i) b0[row * 4096 + part * 8 + i] = acc[i];
}
#endif

constexpr Product product = params.product;
constexpr i32 BLOCK_M = params.block_m, BLOCK_N = params.block_n, GROUPS = params.groups;
constexpr bool PINGPONG = params.pingpong;
constexpr i32 CLUSTER_M = params.cluster_m, CLUSTER_N = params.cluster_n, SPLIT_K = params.split_k;
constexpr i32 CLUSTER_SIZE = sm90::cluster(params);
constexpr i32 K_TILES = sm90::k_tiles(params), SLABS = sm90::slabs(params);
constexpr i32 WARPS = sm90::warps(params);  // the multiplying ones
constexpr i32 LAST_STEPS = sm90::last_steps(params);
constexpr bool BY_THREADS = sm90::by_threads(params);
// The number of workgroups whose loads end in this one's shared memory.
constexpr i32 PEERS = CLUSTER_M + CLUSTER_N - 1;

#ifndef TILES  // sizes come at run time, and with them these
#define TILES i32(sm90::tiles(params))
#define CLUSTERS i32(params.clusters)
static_assert(GRID == CLUSTERS * CLUSTER_SIZE, "the launch is that of the params");
#endif
static_assert(WORKGROUP == sm90::threads(params), "the launch is that of the params");
static_assert(sm90::legal_groups(params), "groups have 64 or 128 rows");
static_assert(sm90::fits_registers(params), "accumulators fit in registers");
static_assert(sm90::legal_cluster(params), "clusters share copied tiles, or split k");
static_assert(sm90::all_own_columns(params), "all that share k own columns, if there is more than one round");
static_assert(sm90::legal_pieces(params), "operands come by the same pieces");
static_assert(sm90::legal_strips(params), "warps that load no operands bring strips");
static_assert(!sm90::is_f32(params) || sm90::legal_fma(params), "FMA units read the operands");
static_assert(sm90::legal_operand(product.a) && sm90::legal_operand(product.b), "wgmma reads the operands");

// The facts of an operand that are known when the kernel is compiled.
struct SideOfImage {
  static constexpr Image image = params.image;
  static constexpr bool batched = product.batches != 1;
  static constexpr i32 piece_k = sm90::piece_k(params), tap_pieces = sm90::tap_pieces(params);
  static constexpr i32 pieces = sm90::tile_pieces(params), last_tile = K_TILES - 1, last_pieces = sm90::last_pieces(params);
};
struct SideA : SideOfImage {
  static constexpr Operand operand = product.a;
  static constexpr Sum sum = product.sum;
  static constexpr i32 block = BLOCK_M;
  using Free = Size<product.m>;
  using K = Size<product.k>;
  static constexpr bool in_pieces = sm90::in_pieces(params, product.a), clips = sm90::clips_a(params);
  static constexpr i32 rows = sm90::rows_a(params), share = CLUSTER_N, registers = sm90::computed_in_flight(params);
};
struct SideB : SideOfImage {
  static constexpr Operand operand = product.b;
  static constexpr Sum sum = product.sum;
  static constexpr i32 block = BLOCK_N;
  using Free = Size<product.n>;
  using K = Size<product.k>;
  static constexpr bool in_pieces = sm90::in_pieces(params, product.b), clips = sm90::clips_b(params);
  static constexpr i32 rows = sm90::rows_b(params), share = CLUSTER_M, registers = sm90::computed_in_flight(params);
};

#ifdef WGMMA_N
WGMMA_COLUMNS(WGMMA_N)
#endif
struct RowsOfA {
  static constexpr i32 bytes = sm90::row_bytes(params, product.a), rows = BLOCK_M;
};
struct RowsOfB {
  static constexpr i32 bytes = sm90::row_bytes(params, product.b), rows = BLOCK_N;
};
static_assert(WGMMA_HIGH_A == sm90::descriptor_high(RowsOfA::bytes) && WGMMA_HIGH_B == sm90::descriptor_high(RowsOfB::bytes),
              "tiles are described as they lie");
using Unit = Either<sm90::is_f32(params), FmaUnit<product.a.major_k, product.b.major_k, BLOCK_N, sm90::turns(params)>,
                    Wgmma<product.a.element, product.b.element, product.a.major_k, product.b.major_k, product.sum, BLOCK_N, RowsOfA, RowsOfB>>;
using Acc = Unit::Acc;
using Stages = Pipeline<params.stages, sm90::stage_bytes(params)>;
using Sums = Exchange<SPLIT_K, SLABS, sm90::eights(params), sm90::owned(params), sm90::inboxes(params), WARPS>;
using Staged = Staging<Acc, sm90::segments(params), product.segment, product.swapped>;
using Steps = EpilogueSteps<SLABS, sm90::eights(params), sm90::owned(params), SPLIT_K, sm90::segments(params)>;
struct StripsOfParams {
  static constexpr Residual first = params.residual, second = params.residual_2;
  static constexpr i32 count = params.strips, groups = GROUPS, columns = Staged::CHUNK, segment = product.segment;
  static constexpr bool swapped = product.swapped;
};
using Strips = Either<(params.strips > 0), ResidualStrips<StripsOfParams>, NoStrips>;

// A warp stages sums where it had the totals of folded ones.
struct TotalsOrStaged {
  u32 words[sm90::staging_bytes(params) / 4];
};
static_assert(sizeof(TotalsOrStaged) >= sizeof(Staged::Storage), "there is room for both");
// Barriers of stages whose tiles have been turned for FMA units.
struct NotTurned {};
struct TurnedStages {
  u64 turned[params.stages];
};
constexpr bool TURNS = sm90::turns(params);
static_assert(!TURNS || (!BY_THREADS && params.strips == 0 && !PINGPONG), "the warps that turn do nothing else");
using TurnedBarriers = Either<TURNS, TurnedStages, NotTurned>;

// The parts' shared memory, in this order.
struct AllStaged {
  TotalsOrStaged of_warp[WARPS];
};
struct SharedStorage : Stages::Tiles,
                       Strips::Tiles,
                       AllStaged,
                       Sums::Inboxes,
                       Stages::Barriers,
                       TurnedBarriers,
                       Strips::Barriers,
                       Sums::Barriers {};
static_assert(sizeof(SharedStorage) + sm90::kTileAlignment == sm90::shared_bytes(params), "the host knows the storage");
template <class Part> constexpr u32 bytes_of_part = __is_empty(Part) ? 0 : sizeof(Part);

// The first row and column of a workgroup in the n-th cluster of tiles, and the first ones that it stores.
struct Tile {
  i32 batch, row, column, row_stored, column_stored;
};
constexpr i32 PAST_END = 0x7fffffff;
constexpr bool RAGGED_M = !SideA::Free::fills(BLOCK_M * CLUSTER_M), RAGGED_N = !SideB::Free::fills(BLOCK_N * CLUSTER_N);
TCC_FN Tile tile_at(i32 n, i32 tiles_m, i32 tiles_n, i32 cluster_m, i32 cluster_n, i32 size_m, i32 size_n) {
  const TilePlace place = tile_place<params.band, product.batches == 1>(n, tiles_m, tiles_n);
  const i32 row = (place.row * CLUSTER_M + cluster_m) * BLOCK_M, column = (place.column * CLUSTER_N + cluster_n) * BLOCK_N;
  return {place.batch, RAGGED_M ? i32(sm90::first_row(params, row, size_m, BLOCK_M)) : row,
          RAGGED_N ? i32(sm90::first_row(params, column, size_n, BLOCK_N)) : column, row, column};
}

// The first tile of a group of the launch's clusters, the distance to its next, and its first row in them.
TCC_FN i32 my_first_tile(i32 first_tile, i32 group, i32 clusters) {
  return first_tile + (PINGPONG ? group * clusters : 0);
}
TCC_FN i32 my_next_tile(i32 clusters) { return clusters * (PINGPONG ? 2 : 1); }
TCC_FN i32 group_row(i32 group) { return PINGPONG ? 0 : group * (SLABS * 64); }

extern __shared__ __align__(1024) u8 shared_memory[];

// acc = the sum over k tiles [k_begin, k_end). A warp of FMA units may have totals at `totals`.
template <class U, class Passed>
TCC_FN void multiply_k(typename U::Acc (&acc)[SLABS][U::SUMS], Stages& stages, u32 my_rows, i32 k_begin, i32 k_end,
                       const Release<PEERS>& release, const Passed& pass_on, i32 warp, i32 lane, u32 totals) {
  constexpr i32 b = sm90::a_bytes(params);
  if constexpr (sm90::is_f32(params)) {
    const u32 memory = tcc_cuda_shared(shared_memory);
    multiply_fma<U, params.fold, sm90::totals_are_shared(params)>(acc, shared_memory, memory, stages, my_rows, b, k_begin,
                                                                 k_end, release, warp, lane,
                                                                 (float4*)(shared_memory + (totals - memory)) + lane);
  } else if constexpr (params.promoted) {
    multiply_promoted<U, LAST_STEPS>(acc, stages, my_rows, b, k_begin, k_end, release, pass_on, K_TILES - 1);
  } else {
    multiply<U, LAST_STEPS>(acc, stages, my_rows, b, k_begin, k_end, release, pass_on, K_TILES - 1);
  }
}

TCC_ENTRY {
  const i32 thread = i32(TCC_THREAD);
  const i32 rank = i32(TCC_BLOCK) % CLUSTER_SIZE;
  const i32 cluster_m = SPLIT_K > 1 ? 0 : rank % CLUSTER_M;
  const i32 cluster_n = SPLIT_K > 1 ? 0 : rank / CLUSTER_M;
  const i32 first_tile = i32(TCC_BLOCK) / CLUSTER_SIZE;
  const i32 tiles_m = tiles_along(SIZE_M, BLOCK_M * CLUSTER_M), tiles_n = tiles_along(SIZE_N, BLOCK_N * CLUSTER_N);
  auto tile_of = [&](i32 n) { return tile_at(n, tiles_m, tiles_n, cluster_m, cluster_n, SIZE_M, SIZE_N); };
  // This workgroup's share of k, in tiles.
  const i32 k_tiles = product.open.k ? tiles_along(SIZE_K, sm90::block_k(params)) : K_TILES;
  const i32 k_begin = SPLIT_K > 1 ? k_tiles * rank / SPLIT_K : 0;
  const i32 k_end = SPLIT_K > 1 ? k_tiles * (rank + 1) / SPLIT_K : k_tiles;

  const u32 tiles = (tcc_cuda_shared(shared_memory) + 1023) & ~1023u;
  const u32 strip_tiles = tiles + bytes_of_part<Stages::Tiles>;
  const u32 staging = strip_tiles + bytes_of_part<Strips::Tiles>;
  const u32 inboxes = staging + bytes_of_part<AllStaged>;
  const u32 barriers = inboxes + bytes_of_part<Sums::Inboxes>;
  const u32 turned = barriers + bytes_of_part<Stages::Barriers>;
  const u32 strip_barriers = turned + bytes_of_part<TurnedBarriers>;
  const u32 arrivals = strip_barriers + bytes_of_part<Strips::Barriers>;
  Stages stages(tiles, barriers);
  if (thread == 0) {
    stages.init(BY_THREADS ? 128 : 1, PEERS * 4 * (PINGPONG ? 1 : GROUPS));
    for (i32 s = 0; TURNS && s < params.stages; ++s) barrier_init(turned + 8 * s, sm90::kTurningWarps);
    Strips::init(strip_tiles, strip_barriers);
    Sums::init(arrivals);
    barrier_init_done();
  }
  if (CLUSTER_SIZE > 1)
    cluster_sync();
  else
    __syncthreads();
  TCC_RELEASE

  // Tells the compiler that it is uniform, and so is a loop of copies, which is short then; that of loads would spill.
  const i32 warp_of_all = __shfl_sync(~0u, thread / 32, 0);
  const TensorMap* const maps[] = {TCC_MAPS nullptr, nullptr, nullptr, nullptr};
  const auto hooks_a = OPERAND_HOOKS(a, product.a.buffer);
  const auto hooks_b = OPERAND_HOOKS(b, product.b.buffer);
  auto operand_a = [&](const Tile& tile) {
    u16 mask = 0;
    for (i32 n = 0; n < CLUSTER_N; ++n) mask |= u16(1 << (cluster_m + n * CLUSTER_M));
    return operand_at<SideA>(hooks_a, maps[0], cluster_n, mask, tile.batch, tile.row, thread, k_begin, SIZE_M, SIZE_K);
  };
  auto operand_b = [&](const Tile& tile) {
    const u16 mask = u16(((1 << CLUSTER_M) - 1) << (cluster_n * CLUSTER_M));
    return operand_at<SideB>(hooks_b, maps[is_copied(product.a.load) ? 1 : 0], cluster_m, mask,
                             tile.batch, tile.column, thread, k_begin, SIZE_N, SIZE_K);
  };
  // Constants need not wait for the launch before: their first k tiles are on their way when it ends.
  constexpr i32 BEGUN = !sm90::begins_early(params) ? 0 : params.fixed_a ? 1 : 2;
  const i32 begun = k_end - k_begin < params.stages ? k_end - k_begin : params.stages;
  if constexpr (BEGUN != 0)
    if (warp_of_all == 0 && first_tile < TILES) {
      const Tile tile = tile_of(first_tile);
      begin_copies<BEGUN == 1, sm90::block_k(params), sm90::a_bytes(params)>(operand_a(tile), operand_b(tile), stages,
                                                                              k_begin, begun);
    }
  TCC_WAIT

  if (BY_THREADS ? thread < 128 : warp_of_all < 4) {
    if constexpr (GROUPS > 1) shrink_registers<sm90::producer_registers(params)>();
    for (i32 n = first_tile; (BY_THREADS || warp_of_all == 0) && n < TILES; n += CLUSTERS) {
      const Tile tile = tile_of(n);
      auto a = operand_a(tile);
      auto b = operand_b(tile);
      produce<sm90::block_k(params), sm90::a_bytes(params), sm90::in_flight(params), sm90::computed_in_flight(params), BEGUN>(
          a, b, stages, k_begin, k_end, warp_of_all == 0, n == first_tile ? begun : 0);
    }
    if constexpr (TURNS) {
      // The warps after it turn what lies along k.
      for (i32 n = first_tile; warp_of_all > 0 && n < TILES; n += CLUSTERS)
#pragma unroll 1
        for (i32 k = k_begin; k < k_end; ++k) {
          stages.wait_until_full();
          u8* const tile = shared_memory + (stages.tile() - tcc_cuda_shared(shared_memory));
          turn_tiles<Unit, BLOCK_M, sm90::kTurningWarps>(tile, tile + sm90::a_bytes(params), warp_of_all - 1, thread % 32);
          fence_async_proxy();  // bulk copies write there next
          __syncwarp();
          if (thread % 32 == 0) barrier_arrive(turned + 8 * stages.stage);
          stages.advance(1);
        }
    }
    // The warps after it bring the strips of a group each.
    constexpr i32 copied = is_copied(product.a.load) + is_copied(product.b.load);
    const auto residuals = RESIDUAL_HOOKS(maps[copied], maps[copied + 1]);
    const i32 group = warp_of_all - 1;
    Strips strips(strip_tiles, strip_barriers, group, 0, 0);
    const bool brings = params.strips > 0 && group >= 0 && group < GROUPS;
    for (i32 n = my_first_tile(first_tile, group, CLUSTERS); brings && n < TILES; n += my_next_tile(CLUSTERS)) {
      const Tile tile = tile_of(n);
      for (i32 step = 0; step < Steps::count; ++step) {
        const i32 column = Steps::column(step, rank);
        if (Steps::is_step(column))
          strips.load(residuals, tile.batch, tile.row + group_row(group) + Steps::slab(step) * 64, tile.column + column);
      }
    }
  } else {
    if constexpr (GROUPS > 1) grow_registers<sm90::consumer_registers(params)>();
    if constexpr (TURNS) stages.full = turned;
    const i32 group = warp_of_all / 4 - 1;
    const i32 warp = warp_of_all - 4;
    const i32 lane = thread % 32;
    // The empty barriers of these peers wait for this workgroup: its row of tiles, then its column.
    const i32 other = lane - CLUSTER_N + (lane - CLUSTER_N >= cluster_m);
    const i32 peer = SPLIT_K > 1 ? rank : lane < CLUSTER_N ? cluster_m + lane * CLUSTER_M : other + cluster_n * CLUSTER_M;
    const Release<PEERS> release(stages.empty, lane, lane < PEERS ? peer : rank);
    const u32 my_staging = staging + warp * sizeof(TotalsOrStaged);
    const u32 my_rows = group_row(group) * RowsOfA::bytes;
    Strips strips(strip_tiles, strip_barriers, group, warp % 4, lane);
    Sums sums(inboxes, arrivals, rank, warp, lane);
    Acc acc[SLABS][Unit::SUMS];
    if (PINGPONG && group == 1) {
      named_barrier_arrive(1, 256);  // group 0 begins
      stages.advance(k_tiles);
    }
#pragma unroll 1
    for (i32 n = my_first_tile(first_tile, group, CLUSTERS); n < TILES; n += my_next_tile(CLUSTERS)) {
      const Tile tile = tile_of(n);
      // The other group's products may follow those that are issued.
      auto pass_on = [&] {
        if (PINGPONG && n + CLUSTERS < TILES) named_barrier_arrive(2 - group, 256);
      };
      if (PINGPONG) named_barrier_sync(1 + group, 256);
      if (product.open.k && k_tiles == 0) {  // a sum of nothing
#pragma unroll
        for (i32 i = 0; i < SLABS * Unit::SUMS; ++i) acc[i / Unit::SUMS][i % Unit::SUMS] = Acc(0);
      }
      multiply_k<Unit>(acc, stages, my_rows, k_begin, k_end, release, pass_on, warp % 4, lane, my_staging);
      if (PINGPONG) stages.advance(k_tiles);
      sums.run(acc);

      const i32 row0 = tile.row + group_row(group) + warp % 4 * 16;
      auto add = [&](Acc(&v)[4], i32 m, i32 e) { sums.add(v, m, e); };
      auto store = [&](i32 row, i32 column, const Acc(&v)[product.segment], const auto&... residual) {
        row += row0;
        column += tile.column;
        // Rows that another tile stores are past the end for the epilogue, whose loads stand under no condition.
        if (RAGGED_M && row < tile.row_stored) row = PAST_END;
        if (RAGGED_N && column < tile.column_stored) column = PAST_END;
        if (product.swapped)
          epilogue(TCC_BUFFERS tile.batch, column, row / product.segment, v, residual...);
        else
          epilogue(TCC_BUFFERS tile.batch, row, column / product.segment, v, residual...);
      };
      store_sums<Unit, Staged, Steps, sm90::elements_at_once(params)>(acc, my_staging, rank, lane, strips, add, store);
    }
  }
  // Nobody leaves while a peer may still use its shared memory.
  if (CLUSTER_SIZE > 1) cluster_sync();
}
