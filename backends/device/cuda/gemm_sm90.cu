// Matrix products on sm_90a: out[row, col] = sum over k of A[row, k] * B[k, col], per batch.
//
// OPERANDS 0 bf16, 1 f16, 2 tf32 (f32 in memory), 3 8-bit integers, 4 f8. A_TYPE, B_TYPE name those of 8 bits: "s8" or
// "u8", "e4m3" or "e5m2". ACC is the type of sums: f32; of integers i32 or u32, which wrap. Only 16-bit operands may be
// MN-major. The unit cuts sums of f8 to 14 bits: with PROMOTE it adds up one tile of k, f32 registers the tiles.
//
// Persistent and warp specialised: warpgroup 0 fills a ring of STAGES tiles in shared memory, GROUPS warpgroups
// multiply from there (wgmma, accumulators in registers) and store. A tile is BLOCK_M x BLOCK_N; its k tiles are 128
// bytes long. Cooperative groups share a tile's rows; with PINGPONG each of two groups has tiles of its own, and one
// group's epilogue runs under the other's products.
// CLUSTER_M x CLUSTER_N neighbouring tiles belong to a cluster, which loads their common rows and columns once
// (multicast). Alternatively SPLIT_K workgroups of a cluster share the k of one tile: each adds up and stores a part of
// its columns, whose sums the others send it, in a fixed order.
//
// epilogue(buffers, batch, row, part, acc) gets SEGMENT (8, 4, 2 or 1) neighbouring columns from SEGMENT * part on, and
// guards itself; lanes have neighbouring ones. SWAPPED: the kernel's rows are the result's columns: `row` is a column
// here, and the segments run along the rows.
//
// A_LOAD, B_LOAD: 0 tensor maps (TMA); 1 hooks load_a, load_b (index maps, prologues), by 128 threads;
// 2 rows of k at any alignment, equally spaced: hooks row_a, row_b give the offsets of their first elements in A_BUFFER,
// B_BUFFER. Words of 4 bytes are read whole.
//
// Tensor maps, 128-byte swizzle, zeros out of bounds, dimensions (k, m, batch...) if *_MAJOR_K, else (m, k, batch...).
// Boxes, where ROWS is A_ROWS (B_ROWS for B) and SHARE is CLUSTER_N (CLUSTER_M for B); BLOCK / SHARE must be a multiple
// of 8:
//   K-major    {BLOCK_K, ROWS / SHARE, 1...}
//   MN-major   {64, 64 / SHARE, 1...}: all k of a tile in SHARE slices, ROWS / 64 boxes
//
// Dynamic shared memory in bytes: SHARED_BYTES below.
#include "sm90.cuh"

#ifndef BLOCK_M  // compiled after the prelude alone, with default parameters and hooks that do the least
#define INDEX i32
#define OPERANDS 0
#define ACC f32
#define SIZE_M 4096
#define SIZE_N 4096
#define SIZE_K 4096
#define BATCHES 1
#define BLOCK_M 128
#define BLOCK_N 256
#define STAGES 4
#define GROUPS 2
#define PINGPONG 0
#define CLUSTER_M 2
#define CLUSTER_N 1
#define SPLIT_K 1
#define BAND 8
#define SEGMENT 8
#define SWAPPED 0
#define PROMOTE 0
#define A_LOAD 0
#define B_LOAD 0
#define A_MAJOR_K 1
#define B_MAJOR_K 1
#define A_RANK 2
#define B_RANK 2
#define WORKGROUP 384
#define GRID 132
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP, 1) __cluster_dims__(2) gemm(f32* __restrict__ b0, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0,
static __device__ __forceinline__ void epilogue(f32* b0, i32 batch, i32 row, i32 part, const f32 (&acc)[8]) {
  if (row >= SIZE_M || part * 8 >= SIZE_N) return;
  for (i32 i = 0; i < 8; ++i) b0[row * SIZE_N + part * 8 + i] = acc[i];
}
#endif

#if OPERANDS == 2
#define ELEMENT f32
#define ELEMENT_BYTES 4
#define ACC_REGISTER "+f"
WGMMA_FUNCTION(BLOCK_N, "k8.f32.tf32.tf32", ", 1, 1")
#elif OPERANDS == 3
#define ELEMENT u8
#define ELEMENT_BYTES 1
#define ACC_REGISTER "+r"
WGMMA_FUNCTION(BLOCK_N, "k32.s32." A_TYPE "." B_TYPE, "")
#elif OPERANDS == 4
#define ELEMENT u8
#define ELEMENT_BYTES 1
#define ACC_REGISTER "+f"
WGMMA_FUNCTION(BLOCK_N, "k32.f32." A_TYPE "." B_TYPE, ", 1, 1")
#else
#define ELEMENT u16
#define ELEMENT_BYTES 2
#define ACC_REGISTER "+f"
#if OPERANDS == 0
#define WGMMA_TYPES "k16.f32.bf16.bf16"
#define PACK(low, high) tcc_cuda_pack_bf16(low, high)
#else
#define WGMMA_TYPES "k16.f32.f16.f16"
#define PACK(low, high) tcc_cuda_pack_f16(low, high)
#endif
// The last two numbers transpose MN-major operands.
#if A_MAJOR_K && B_MAJOR_K
WGMMA_FUNCTION(BLOCK_N, WGMMA_TYPES, ", 1, 1, 0, 0")
#elif A_MAJOR_K
WGMMA_FUNCTION(BLOCK_N, WGMMA_TYPES, ", 1, 1, 0, 1")
#elif B_MAJOR_K
WGMMA_FUNCTION(BLOCK_N, WGMMA_TYPES, ", 1, 1, 1, 0")
#else
WGMMA_FUNCTION(BLOCK_N, WGMMA_TYPES, ", 1, 1, 1, 1")
#endif
#endif

#define BLOCK_K (128 / ELEMENT_BYTES)
#define K_TILES ((SIZE_K + BLOCK_K - 1) / BLOCK_K)
#define CLUSTER_SIZE (CLUSTER_M * CLUSTER_N * SPLIT_K)
#define CLUSTERS (GRID / CLUSTER_SIZE)
// Tiles are counted in clusters.
#define TILES_M ((SIZE_M + BLOCK_M * CLUSTER_M - 1) / (BLOCK_M * CLUSTER_M))
#define TILES_N ((SIZE_N + BLOCK_N * CLUSTER_N - 1) / (BLOCK_N * CLUSTER_N))
#define TILES (TILES_M * TILES_N * BATCHES)
#define MANUAL (A_LOAD != 0 || B_LOAD != 0)
#define A_BYTES (BLOCK_M * 128)
#define B_BYTES ((B_MAJOR_K ? BLOCK_N : (BLOCK_N + 63) / 64 * 64) * 128)
#define STAGE_BYTES (A_BYTES + B_BYTES)
// Rows of a tile that TMA loads: none that are far outside of the only tile, whose zeros take it longer than elements
// do. What shared memory has there reaches no result.
#define ROWS_LOADED(block, size, share, major_k)                            \
  (!(major_k)         ? ((size) < (block) ? (size) + 63 : (block) + 63) / 64 * 64 \
   : (size) < (block) ? (((size) + (share)-1) / (share) + 7) / 8 * 8 * (share)   \
                      : (block))
#define A_ROWS ROWS_LOADED(BLOCK_M, SIZE_M, CLUSTER_N, A_MAJOR_K)
#define B_ROWS ROWS_LOADED(BLOCK_N, SIZE_N, CLUSTER_M, B_MAJOR_K)
#define TMA_BYTES (((A_LOAD == 0 ? A_ROWS : 0) + (B_LOAD == 0 ? B_ROWS : 0)) * 128)
// Rows of a group, in units of wgmma's 64.
#define ROWS_OF_64 (BLOCK_M / 64 / (PINGPONG ? 1 : GROUPS))
// Eights of columns of a tile, and those that a workgroup adds up and stores: the first of them rank 0.
#define EIGHTS (BLOCK_N / 8)
#define OWNED ((EIGHTS + SPLIT_K - 1) / SPLIT_K)
// Eights that a warp stages at once for the epilogue.
#define STAGES_EIGHTS(n) (EIGHTS % (n) == 0 && OWNED % (n) == 0)
#define SEGMENTS (STAGES_EIGHTS(8) ? 8 : STAGES_EIGHTS(4) ? 4 : STAGES_EIGHTS(2) ? 2 : 1)
#define CHUNK (SEGMENTS * 8)
#define STAGING_BYTES (16 * CHUNK * 4)
// The sums of the other ranks for a warp, 512 bytes of 64 rows and 8 columns from each; of two tiles where there are more.
#define INBOXES (SPLIT_K == 1 ? 0 : TILES > CLUSTERS ? 2 : 1)
#define INBOX_BYTES ((SPLIT_K - 1) * ROWS_OF_64 * OWNED * 512)
#define CONSUMER_WARPS (GROUPS * 4)
#define SHARED_BYTES \
  (1024 + STAGES * (STAGE_BYTES + 16) + CONSUMER_WARPS * (STAGING_BYTES + INBOXES * (INBOX_BYTES + 8)))
// Workgroups whose loads end in this one's shared memory.
#define PEERS (CLUSTER_M + CLUSTER_N - 1)
// Registers of a tile's sums, and with those that are promoted, of 64 rows at a time.
#define ACCUMULATORS (ROWS_OF_64 * BLOCK_N / 2)
#define SUMS (ACCUMULATORS + PROMOTE * (BLOCK_N / 2))
// 504 (of 4 schedulers' 512) registers per lane of a warp are shared by the groups; threads that load keep loads in theirs.
#define CONSUMER_REGISTERS                                                                                            \
  (GROUPS == 1   ? 248                                                                                               \
   : GROUPS == 2 ? (!MANUAL ? 240 : SUMS <= 128 ? 176 : 200)                                                  \
                 : (!MANUAL ? 160 : SUMS <= 64 ? 136 : 144))
#define PRODUCER_REGISTERS (GROUPS == 2 ? (MANUAL ? 504 - 2 * CONSUMER_REGISTERS : 24) : 512 - 3 * CONSUMER_REGISTERS)
// Registers of a thread for loads in flight, and those of them for each operand that is computed.
#define FLIGHT ((GROUPS == 1 ? 136 : PRODUCER_REGISTERS) - 48)
#define COMPUTED_FLIGHT ((FLIGHT < 64 ? FLIGHT : 64) / (A_LOAD == 1 && B_LOAD == 1 ? 2 : 1))

static_assert(WORKGROUP == 128 * (1 + GROUPS) && GRID % CLUSTER_SIZE == 0, "launch");
static_assert(SUMS <= (GROUPS == 3 ? 128 : MANUAL ? 160 : 192), "accumulators fit in registers");
static_assert(BLOCK_M % 64 == 0 && ROWS_OF_64 >= 1 && ROWS_OF_64 * 64 * (PINGPONG ? 1 : GROUPS) == BLOCK_M, "rows of the groups");
static_assert(BLOCK_N % 8 == 0 && BLOCK_N <= 256 && SHARED_BYTES <= 232448, "tile");
static_assert(!PINGPONG || (GROUPS == 2 && SPLIT_K == 1), "ping-pong");
static_assert(SPLIT_K == 1 || (CLUSTER_M * CLUSTER_N == 1 && SPLIT_K <= 8 && SPLIT_K <= K_TILES), "split");
static_assert(OWNED * (SPLIT_K - 1) < EIGHTS || TILES <= CLUSTERS, "who adds up nothing waits for nobody");
static_assert((A_LOAD == 0 || CLUSTER_N == 1) && (B_LOAD == 0 || CLUSTER_M == 1), "only TMA shares loads");
static_assert((A_LOAD != 2 || A_MAJOR_K) && (B_LOAD != 2 || B_MAJOR_K), "rows are along k");
static_assert(ELEMENT_BYTES == 2 || (A_MAJOR_K && B_MAJOR_K), "only 16 bits are transposed");

extern __shared__ __align__(1024) u8 shared_memory[];

// A position in the ring of stages; phase is the parity of the rounds made.
struct Ring {
  u32 stage = 0, phase = 0;
  __device__ __forceinline__ void advance(u32 steps) {
    const u32 at = stage + steps;
    stage = at % STAGES;
    phase ^= at / STAGES & 1;
  }
};

// The first row and column of this workgroup in the n-th cluster of tiles. Clusters are walked in bands of BAND rows,
// so that what runs at the same time shares rows and columns in L2.
struct Tile {
  i32 batch, row, col;
};
TCC_FN Tile tile_at(i32 n, i32 cluster_m, i32 cluster_n) {
  const i32 in_batch = n % (TILES_M * TILES_N);
  const i32 band_start = in_batch / (BAND * TILES_N) * BAND;
  const i32 band_rows = TILES_M - band_start < BAND ? TILES_M - band_start : BAND;
  const i32 in_band = in_batch % (BAND * TILES_N);
  return {n / (TILES_M * TILES_N), ((band_start + in_band % band_rows) * CLUSTER_M + cluster_m) * BLOCK_M,
          (in_band / band_rows * CLUSTER_N + cluster_n) * BLOCK_N};
}

#if A_LOAD == 0 || B_LOAD == 0
// Slice `slice` of SHARE of a tile of ROWS rows (or columns) from `at` on, for all the workgroups of `mask`.
template <i32 RANK, bool MAJOR_K, i32 ROWS, i32 SHARE>
TCC_FN void load_slice(u32 to, const TensorMap& map, u32 full, i32 slice, u16 mask, i32 at, i32 k, const i32 (&batch)[3]) {
  if constexpr (MAJOR_K) {
    constexpr i32 rows = ROWS / SHARE;
    static_assert(rows % 8 == 0 && rows <= 256, "swizzled rows come in eights");
    tma_load<RANK, (SHARE > 1)>(to + slice * rows * 128, map, full, mask, k, at + slice * rows, batch);
  } else {
    constexpr i32 depth = 64 / SHARE;
#pragma unroll
    for (i32 box = 0; box < ROWS / 64; ++box)
      tma_load<RANK, (SHARE > 1)>(to + box * 8192 + slice * depth * 128, map, full, mask, at + box * 64,
                                  k + slice * depth, batch);
  }
}
#endif

#if A_LOAD == 1 || B_LOAD == 1
// Where element (row, k) of a swizzled tile lies.
template <bool MAJOR_K> TCC_FN u32 tile_offset(i32 row, i32 k) {
  if constexpr (MAJOR_K) return row * 128 + ((k * ELEMENT_BYTES) ^ ((row & 7) << 4));
  return row / 64 * 8192 + k * 128 + ((row % 64 * ELEMENT_BYTES) ^ ((k & 7) << 4));
}

#if OPERANDS >= 3
#include "computed_bytes.cuh"
#define COMPUTED(rows, x) Computed<rows, x##_VECTOR, x##_VECTOR_ALONG_K, x##_TYPE[1] == '5'>
#else
#define COMPUTED(rows, x) Computed<rows, x##_VECTOR, x##_VECTOR_ALONG_K, x##_MAJOR_K>
// A thread's vectors of a tile of ROWS rows, by load(at, k, v), whose vectors run along k or along the rows: packed as
// wgmma reads them, then stored. Tiles of more vectors than fit in a thread's registers take several rounds.
template <i32 ROWS, i32 VECTOR, bool ALONG_K, bool MAJOR_K> struct Computed {
  static constexpr i32 vectors = ROWS * BLOCK_K / VECTOR;
  static constexpr i32 line = (ALONG_K ? BLOCK_K : ROWS) / VECTOR;
  static constexpr i32 words = OPERANDS == 2 ? VECTOR : (VECTOR + 1) / 2;
  static constexpr i32 of_thread = (vectors + 127) / 128;
  // Registers of a vector in flight: short ones are of f32, or of single elements.
  static constexpr i32 load_words = VECTOR < 8 ? VECTOR : words;
  // Short ones need as many registers again for addresses and bounds.
  static constexpr i32 limit = VECTOR < 8 ? 6 : 16;
  static constexpr i32 most = COMPUTED_FLIGHT / load_words < limit ? COMPUTED_FLIGHT / load_words : limit;
  static constexpr i32 at_once = of_thread < most ? of_thread : most;
  static constexpr i32 rounds = (of_thread + at_once - 1) / at_once;
  u32 packed[at_once][words];

  // Every thread has a vector in every place, or only some in the last ones.
  __device__ __forceinline__ static bool holds(i32 n) { return vectors % (128 * at_once) == 0 || n < vectors; }

  template <class Load> __device__ __forceinline__ void fetch(i32 round, i32 thread, i32 row0, i32 k0, Load load) {
#pragma unroll
    for (i32 d = 0; d < at_once; ++d) {
      const i32 n = (round * at_once + d) * 128 + thread;
      if (!holds(n)) continue;
      f32 v[VECTOR];
      if (ALONG_K)
        load(row0 + n / line, k0 / VECTOR + n % line, v);
      else
        load(row0 / VECTOR + n % line, k0 + n / line, v);
#pragma unroll
      for (i32 i = 0; i < words; ++i)
#if OPERANDS == 2
        packed[d][i] = tcc_f32_bits(v[i]);
#else
        packed[d][i] = VECTOR == 1 ? PACK(v[0], 0.0f) : PACK(v[2 * i], v[2 * i + 1]);
#endif
    }
  }

  __device__ __forceinline__ void store(i32 round, i32 thread, u32 tile) const {
#pragma unroll
    for (i32 d = 0; d < at_once; ++d) {
      const i32 n = (round * at_once + d) * 128 + thread;
      if (!holds(n)) continue;
      const i32 row = ALONG_K ? n / line : n % line * VECTOR;
      const i32 k = ALONG_K ? n % line * VECTOR : n / line;
      auto at = [&](i32 i) { return tile + tile_offset<MAJOR_K>(ALONG_K ? row : row + i, ALONG_K ? k + i : k); };
      const u32(&w)[words] = packed[d];
      constexpr i32 per_word = ELEMENT_BYTES == 4 || VECTOR == 1 ? 1 : 2;
      if constexpr (ALONG_K == MAJOR_K && words % 4 == 0) {
#pragma unroll
        for (i32 i = 0; i < words; i += 4) store_shared(at(i * per_word), Uint4{w[i], w[i + 1], w[i + 2], w[i + 3]});
      } else if constexpr (ELEMENT_BYTES == 4 || (ALONG_K == MAJOR_K && VECTOR > 1)) {
#pragma unroll
        for (i32 i = 0; i < words; ++i) store_shared(at(i * per_word), w[i]);
      } else {
#pragma unroll
        for (i32 i = 0; i < VECTOR; ++i) store_shared(at(i), u16(i % 2 ? w[i / 2] >> 16 : w[i / 2]));
      }
    }
  }
};
#endif
#endif

#if A_LOAD == 2 || B_LOAD == 2
#include "unaligned_rows.cuh"
#endif

// Sums of two ranks.
TCC_FN ACC add_sums(ACC a, ACC b) {
#if OPERANDS == 3
  return ACC(u32(a) + u32(b));
#else
  return a + b;
#endif
}

// Where a warp stages element (row, column) of 16 rows and CHUNK columns. Segments of 8 lie together: of a row, or with
// SWAPPED of a column. Those that the fragments' stores and the segments' loads touch at once lie in different banks.
TCC_FN u32 staged(i32 row, i32 column) {
#if SWAPPED
  return u32(column / 2 * 128 + ((column % 2 * 16 + row) ^ column / 2 % 4 * 8) * 4);
#else
  constexpr i32 group = SEGMENTS < 4 ? SEGMENTS : 4;
  const i32 at = row * SEGMENTS + (column / 8 ^ (row * group / 4 & (group - 1)));
  return u32(at * 32 + ((column % 8 ^ (at & 4)) * 4));
#endif
}
// The place of a staged segment's first element.
struct Segment {
  i32 row, column;
};
TCC_FN Segment segment_at(i32 n) {
#if SWAPPED
  return {n % (16 / SEGMENT) * SEGMENT, n / (16 / SEGMENT)};
#else
  return {n / (CHUNK / SEGMENT), n % (CHUNK / SEGMENT) * SEGMENT};
#endif
}
// Of `segments`, those that a lane handles at once: 8 columns, or 16 where registers are left.
TCC_FN constexpr i32 segments_at_once(i32 segments) {
  i32 n = (ACCUMULATORS + 96 <= CONSUMER_REGISTERS ? 16 : 8) / SEGMENT;
  while (n > 1 && segments % (32 * n) != 0) n /= 2;
  return n;
}
// A staged segment: 16 bytes or less at once.
TCC_FN void load_segment(u32 staging, Segment at, ACC (&v)[SEGMENT]) {
  constexpr i32 count = SEGMENT < 4 ? SEGMENT : 4;
#pragma unroll
  for (i32 i = 0; i < SEGMENT; i += count) {
    const u32 from = staging + (SWAPPED ? staged(at.row + i, at.column) : staged(at.row, at.column + i));
    load_shared<count>(from, v + i);
  }
}
// Two neighbouring columns of a fragment.
TCC_FN void stage(u32 staging, i32 row, i32 column, ACC a, ACC b) {
#if SWAPPED
#if OPERANDS == 3
  store_shared(staging + staged(row, column), u32(a));
  store_shared(staging + staged(row, column + 1), u32(b));
#else
  store_shared(staging + staged(row, column), tcc_f32_bits(a));
  store_shared(staging + staged(row, column + 1), tcc_f32_bits(b));
#endif
#else
  store_shared(staging + staged(row, column), a, b);
#endif
}

#if A_LOAD == 1
using ComputedA = COMPUTED(BLOCK_M, A);
#define ROUNDS_A ComputedA::rounds
#define WORDS_A (ComputedA::at_once * ComputedA::load_words)
#else
#define ROUNDS_A 0
#define WORDS_A 0
#endif
#if B_LOAD == 1
using ComputedB = COMPUTED(BLOCK_N, B);
#define ROUNDS_B ComputedB::rounds
#define WORDS_B (ComputedB::at_once * ComputedB::load_words)
#else
#define ROUNDS_B 0
#define WORDS_B 0
#endif
#if A_LOAD == 1 || B_LOAD == 1
// Tiles of k that are computed at once, to have more loads in flight.
TCC_FN constexpr i32 tiles_ahead() {
  if (A_LOAD == 2 || B_LOAD == 2 || ROUNDS_A > 1 || ROUNDS_B > 1) return 1;
  const i32 most = (FLIGHT < 64 ? FLIGHT : 64) / (WORDS_A + WORDS_B);
  return most < 1 ? 1 : most < 4 ? most : 4;
}
constexpr i32 AHEAD = tiles_ahead();
#else
constexpr i32 AHEAD = 1;
#endif

#if A_LOAD == 2 || B_LOAD == 2
constexpr i32 UNITS_A = A_LOAD == 2 ? Rows<BLOCK_M>::units : 0;
constexpr i32 UNITS = UNITS_A + (B_LOAD == 2 ? Rows<BLOCK_N>::units : 0);
// Units of rows in flight: a divisor of a stage's, so that each has its registers.
TCC_FN constexpr i32 units_in_flight() {
  const i32 most = (FLIGHT - (A_LOAD == 1 || B_LOAD == 1 ? COMPUTED_FLIGHT : 0)) / 8;
  for (i32 n = UNITS; n > 1; --n)
    if (UNITS % n == 0 && n <= most) return n;
  return 1;
}
constexpr i32 IN_FLIGHT = units_in_flight();
#endif

TCC_ENTRY {
  const i32 thread = i32(TCC_THREAD);
  const i32 rank = i32(TCC_BLOCK) % CLUSTER_SIZE;
  const i32 cluster_m = SPLIT_K > 1 ? 0 : rank % CLUSTER_M;
  const i32 cluster_n = SPLIT_K > 1 ? 0 : rank / CLUSTER_M;
  const i32 first_tile = i32(TCC_BLOCK) / CLUSTER_SIZE;
  // This workgroup's share of k, in tiles.
  const i32 k_begin = SPLIT_K > 1 ? K_TILES * rank / SPLIT_K : 0;
  const i32 k_end = SPLIT_K > 1 ? K_TILES * (rank + 1) / SPLIT_K : K_TILES;

  const u32 stages = (tcc_cuda_shared(shared_memory) + 1023) & ~1023u;
  const u32 staging = stages + STAGES * STAGE_BYTES;
  const u32 inboxes = staging + CONSUMER_WARPS * STAGING_BYTES;
  const u32 full = inboxes + CONSUMER_WARPS * INBOXES * INBOX_BYTES;  // a stage holds its tiles
  const u32 empty = full + 8 * STAGES;                                // all who read the stage are done
  const u32 summands = empty + 8 * STAGES;                            // an inbox has all other ranks' sums
  if (thread == 0) {
    for (i32 s = 0; s < STAGES; ++s) {
      barrier_init(full + 8 * s, MANUAL ? 128 : 1);
      barrier_init(empty + 8 * s, PEERS * 4 * (PINGPONG ? 1 : GROUPS));
    }
    for (i32 i = 0; i < INBOXES * CONSUMER_WARPS; ++i) barrier_init(summands + 8 * i, 1);
    barrier_init_done();
  }
  if (CLUSTER_SIZE > 1)
    cluster_sync();
  else
    __syncthreads();
  TCC_BEGIN

  Ring ring;
  // Tells the compiler that it is uniform, and so is a loop of copies, which is short then; that of loads would spill.
  const i32 warp_of_all = __shfl_sync(~0u, thread / 32, 0);
  if (MANUAL ? thread < 128 : warp_of_all < 4) {
    if constexpr (GROUPS > 1) shrink_registers<PRODUCER_REGISTERS>();
#if A_LOAD == 0
    u16 mask_a = 0;
    for (i32 n = 0; n < CLUSTER_N; ++n) mask_a |= u16(1 << (cluster_m + n * CLUSTER_M));
    i32 batch_of_a[3] = {0, 0, 0};
#endif
#if B_LOAD == 0
    const u16 mask_b = u16(((1 << CLUSTER_M) - 1) << (cluster_n * CLUSTER_M));
    i32 batch_of_b[3] = {0, 0, 0};
#endif
    for (i32 n = first_tile; (MANUAL || warp_of_all == 0) && n < TILES; n += CLUSTERS) {
      const Tile tile = tile_at(n, cluster_m, cluster_n);
#if A_LOAD == 0 && A_RANK > 2
      batch_a(TCC_BUFFERS tile.batch, batch_of_a);
#endif
#if B_LOAD == 0 && B_RANK > 2
      batch_b(TCC_BUFFERS tile.batch, batch_of_b);
#endif
#if A_LOAD == 1
      ComputedA computed_a[AHEAD];
      auto value_a = [&](i32 at, i32 k, ACC(&v)[A_VECTOR]) { load_a(TCC_BUFFERS tile.batch, at, k, v); };
#endif
#if B_LOAD == 1
      ComputedB computed_b[AHEAD];
      auto value_b = [&](i32 at, i32 k, ACC(&v)[B_VECTOR]) { load_b(TCC_BUFFERS tile.batch, at, k, v); };
#endif
#if A_LOAD == 2
      Rows<BLOCK_M> rows_a;
      rows_a.start((const ELEMENT*)(A_BUFFER) + row_a(TCC_BUFFERS tile.batch, tile.row),
                   i32(row_a(TCC_BUFFERS 0, 1) - row_a(TCC_BUFFERS 0, 0)) * ELEMENT_BYTES, SIZE_M - tile.row, thread);
      rows_a.load_tails(k_begin * BLOCK_K);
#endif
#if B_LOAD == 2
      Rows<BLOCK_N> rows_b;
      rows_b.start((const ELEMENT*)(B_BUFFER) + row_b(TCC_BUFFERS tile.batch, tile.col),
                   i32(row_b(TCC_BUFFERS 0, 1) - row_b(TCC_BUFFERS 0, 0)) * ELEMENT_BYTES, SIZE_N - tile.col, thread);
      rows_b.load_tails(k_begin * BLOCK_K);
#endif
#if A_LOAD == 2 || B_LOAD == 2
      u32 units[IN_FLIGHT][8] = {};
      auto load_unit = [&](i32 unit, i32 k) {
#if A_LOAD == 2
        if (unit < UNITS_A) rows_a.load(unit, k, units[unit % IN_FLIGHT]);
#endif
#if B_LOAD == 2
        if (unit >= UNITS_A) rows_b.load(unit - UNITS_A, k, units[unit % IN_FLIGHT]);
#endif
      };
#pragma unroll
      for (i32 unit = 0; unit < IN_FLIGHT; ++unit) load_unit(unit, k_begin * BLOCK_K);
#endif
#pragma unroll 1
      for (i32 k_tile = k_begin; k_tile < k_end; k_tile += AHEAD) {
#if A_LOAD == 1 || B_LOAD == 1
#pragma unroll
        for (i32 t = 0; t < AHEAD; ++t) {
          const i32 k = (k_tile + t < k_end ? k_tile + t : k_end - 1) * BLOCK_K;
#if A_LOAD == 1
          computed_a[t].fetch(0, thread, tile.row, k, value_a);
#endif
#if B_LOAD == 1
          computed_b[t].fetch(0, thread, tile.col, k, value_b);
#endif
        }
#endif
#pragma unroll
        for (i32 t = 0; t < AHEAD; ++t) {
          if (t != 0 && k_tile + t >= k_end) break;
          const i32 k = (k_tile + t) * BLOCK_K;
          const u32 tile_a = stages + ring.stage * STAGE_BYTES;
          const u32 tile_b = tile_a + A_BYTES;
          const u32 ready = full + 8 * ring.stage;
          barrier_wait(empty + 8 * ring.stage, ring.phase ^ 1);
          if (TMA_BYTES != 0 && warp_of_all == 0 && elect_lane()) {
#if !MANUAL
            barrier_arrive_expect(ready, TMA_BYTES);
#else
            barrier_expect(ready, TMA_BYTES);
#endif
#if A_LOAD == 0
            load_slice<A_RANK, A_MAJOR_K, A_ROWS, CLUSTER_N>(tile_a, map_a, ready, cluster_n, mask_a, tile.row, k, batch_of_a);
#endif
#if B_LOAD == 0
            load_slice<B_RANK, B_MAJOR_K, B_ROWS, CLUSTER_M>(tile_b, map_b, ready, cluster_m, mask_b, tile.col, k, batch_of_b);
#endif
          }
#if A_LOAD == 1
          computed_a[t].store(0, thread, tile_a);
#pragma unroll 1
          for (i32 round = 1; round < ComputedA::rounds; ++round) {
            computed_a[t].fetch(round, thread, tile.row, k, value_a);
            computed_a[t].store(round, thread, tile_a);
          }
#endif
#if B_LOAD == 1
          computed_b[t].store(0, thread, tile_b);
#pragma unroll 1
          for (i32 round = 1; round < ComputedB::rounds; ++round) {
            computed_b[t].fetch(round, thread, tile.col, k, value_b);
            computed_b[t].store(round, thread, tile_b);
          }
#endif
          // As a unit is stored, its registers take the next one; beyond the end of k nothing is read.
#if A_LOAD == 2
          rows_a.store_tails(k, tile_a);
          rows_a.load_tails(k + BLOCK_K);
#endif
#if B_LOAD == 2
          rows_b.store_tails(k, tile_b);
          rows_b.load_tails(k + BLOCK_K);
#endif
#if A_LOAD == 2 || B_LOAD == 2
#pragma unroll
          for (i32 unit = 0; unit < UNITS; ++unit) {
#if A_LOAD == 2
            if (unit < UNITS_A) rows_a.store(unit, k, units[unit % IN_FLIGHT], tile_a);
#endif
#if B_LOAD == 2
            if (unit >= UNITS_A) rows_b.store(unit - UNITS_A, k, units[unit % IN_FLIGHT], tile_b);
#endif
            const i32 next = unit + IN_FLIGHT;
            load_unit(next % UNITS, next < UNITS ? k : k + BLOCK_K);
          }
#endif
          if (MANUAL) {
            fence_async_proxy();
            barrier_arrive(ready);
          }
          ring.advance(1);
        }
      }
    }
  } else {
    if constexpr (GROUPS > 1) grow_registers<CONSUMER_REGISTERS>();
    const i32 group = warp_of_all / 4 - 1;
    const i32 warp = warp_of_all - 4;
    const i32 lane = thread % 32;
    // Whose empty barriers wait for this workgroup: those of its row of tiles, then those of its column.
    const i32 other = lane - CLUSTER_N + (lane - CLUSTER_N >= cluster_m);
    const i32 peer = SPLIT_K > 1 ? rank : lane < CLUSTER_N ? cluster_m + lane * CLUSTER_M : other + cluster_n * CLUSTER_M;
    const u32 release = PEERS > 1 ? tcc_cuda_peer(empty, lane < PEERS ? peer : rank) : empty;
    const u32 my_staging = staging + warp * STAGING_BYTES;
    const u32 my_rows = PINGPONG ? 0 : group * (ROWS_OF_64 * 8192);
    u32 exchange = 0;  // number of the next; inboxes take turns
    // What the pending products read is free again.
    auto release_stage = [&](u32 stage) {
      if (PEERS > 1 && lane < PEERS) barrier_arrive_peer(release + 8 * stage);
      if (PEERS == 1 && lane == 0) barrier_arrive(empty + 8 * stage);
    };

    ACC acc[ROWS_OF_64][BLOCK_N / 2];
#if PROMOTE
    ACC part[BLOCK_N / 2];
#endif
    if (PINGPONG && group == 1) {
      named_barrier_arrive(1, 256);  // group 0 begins
      ring.advance(K_TILES);
    }
#pragma unroll 1
    for (i32 n = first_tile + (PINGPONG ? group * CLUSTERS : 0); n < TILES; n += CLUSTERS * (PINGPONG ? 2 : 1)) {
      const Tile tile = tile_at(n, cluster_m, cluster_n);
      // The other group's products may follow those that are issued.
      auto pass_on = [&] {
        if (PINGPONG && n + CLUSTERS < TILES) named_barrier_arrive(2 - group, 256);
      };
      if (PINGPONG) named_barrier_sync(1 + group, 256);
#if PROMOTE
#pragma unroll
      for (i32 m = 0; m < ROWS_OF_64; ++m)
#pragma unroll
        for (i32 i = 0; i < BLOCK_N / 2; ++i) acc[m][i] = 0;
#else
      u32 last = 0;  // the stage that the pending products read
#endif
#pragma unroll 1
      for (i32 k = k_begin; k < k_end; ++k) {
        const u32 a = wgmma_tile(stages + ring.stage * STAGE_BYTES + my_rows, A_MAJOR_K);
        const u32 b = wgmma_tile(stages + ring.stage * STAGE_BYTES + A_BYTES, B_MAJOR_K);
        barrier_wait(full + 8 * ring.stage, ring.phase);
#if PROMOTE
        // The other groups' products run under these additions.
#pragma unroll
        for (i32 m = 0; m < ROWS_OF_64; ++m) {
          wgmma_fence();
#pragma unroll
          for (i32 step = 0; step < 4; ++step)
            wgmma(part, a + (step * 32 + m * 8192 >> 4), b + (step * 32 >> 4), step != 0);
          wgmma_commit();
          if (m == ROWS_OF_64 - 1 && k == k_end - 1) pass_on();
          wgmma_wait<0>();
          if (m == ROWS_OF_64 - 1) release_stage(ring.stage);
#pragma unroll
          for (i32 i = 0; i < BLOCK_N / 2; ++i) {
            asm volatile("" : ACC_REGISTER(part[i])::"memory");
            acc[m][i] += part[i];
          }
        }
#else
        wgmma_fence();
#pragma unroll
        for (i32 step = 0; step < 4; ++step)
#pragma unroll
          for (i32 m = 0; m < ROWS_OF_64; ++m)
            wgmma(acc[m], a + (step * (A_MAJOR_K ? 32 : 2048) + m * 8192 >> 4), b + (step * (B_MAJOR_K ? 32 : 2048) >> 4),
                  step != 0 || k != k_begin);
        wgmma_commit();
        if (k != k_begin) {
          wgmma_wait<1>();
          release_stage(last);
        }
        last = ring.stage;
#endif
        ring.advance(1);
      }
#if !PROMOTE
      pass_on();
      wgmma_wait<0>();
#pragma unroll
      for (i32 m = 0; m < ROWS_OF_64; ++m)
#pragma unroll
        for (i32 i = 0; i < BLOCK_N / 2; ++i) asm volatile("" : ACC_REGISTER(acc[m][i])::"memory");
      release_stage(last);
#endif
      if (PINGPONG) ring.advance(K_TILES);

#if SPLIT_K > 1
      // Lanes send their sums to the same lanes of who adds them up. Where there are more tiles, who sends has the sums of
      // its last one, which the others sent after they had read those of the tile before it.
      const u32 inbox = inboxes + (warp * INBOXES + exchange % INBOXES) * INBOX_BYTES;
      const u32 arrived = summands + (warp * INBOXES + exchange % INBOXES) * 8;
      const i32 owned = min(OWNED, EIGHTS - rank * OWNED);
      if (owned > 0 && lane == 0) barrier_arrive_expect(arrived, (SPLIT_K - 1) * ROWS_OF_64 * owned * 512);
#pragma unroll
      for (i32 owner = 0; owner < SPLIT_K; ++owner) {
        if (owner == rank) continue;
        const u32 to = tcc_cuda_peer(inbox + (rank - (rank > owner)) * (ROWS_OF_64 * OWNED * 512) + lane * 16, owner);
        const u32 its = tcc_cuda_peer(arrived, owner);
#pragma unroll
        for (i32 m = 0; m < ROWS_OF_64; ++m)
#pragma unroll
          for (i32 e = owner * OWNED; e < owner * OWNED + OWNED && e < EIGHTS; ++e)
            send_async(to + (m * OWNED + e % OWNED) * 512, &acc[m][e * 4], its);
      }
      if (owned > 0) barrier_wait_cluster(arrived, exchange / INBOXES % 2);
      ++exchange;
#endif

      constexpr i32 chunks = OWNED / SEGMENTS;
      const i32 row0 = tile.row + i32(my_rows / 128) + warp % 4 * 16;
      // 16 rows and CHUNK columns at a time, in a rolled loop, so that the hook is compiled once.
#pragma unroll 1
      for (i32 step = 0; step < ROWS_OF_64 * chunks; ++step) {
        const i32 column0 = ((SPLIT_K > 1 ? rank * chunks : 0) + step % chunks) * CHUNK;
        if (OWNED * SPLIT_K > EIGHTS && column0 >= BLOCK_N) continue;
#pragma unroll
        for (i32 s = 0; s < ROWS_OF_64 * (EIGHTS / SEGMENTS); ++s) {
          if (s % (EIGHTS / SEGMENTS) * CHUNK != column0 || s / (EIGHTS / SEGMENTS) != step / chunks) continue;
#pragma unroll
          for (i32 j = 0; j < SEGMENTS; ++j) {
            const i32 m = s / (EIGHTS / SEGMENTS), e = s % (EIGHTS / SEGMENTS) * SEGMENTS + j;
            ACC v[4] = {acc[m][e * 4], acc[m][e * 4 + 1], acc[m][e * 4 + 2], acc[m][e * 4 + 3]};
#if SPLIT_K > 1
#pragma unroll
            for (i32 r = 0; r < SPLIT_K - 1; ++r) {
              ACC sent[4];
              load_shared<4>(inbox + ((r * ROWS_OF_64 + m) * OWNED + e % OWNED) * 512 + lane * 16, sent);
#pragma unroll
              for (i32 i = 0; i < 4; ++i) v[i] = add_sums(v[i], sent[i]);
            }
#endif
            stage(my_staging, lane / 4, j * 8 + lane % 4 * 2, v[0], v[1]);
            stage(my_staging, lane / 4 + 8, j * 8 + lane % 4 * 2, v[2], v[3]);
          }
        }
        __syncwarp();
        constexpr i32 segments = 16 * CHUNK / SEGMENT;
        // Segments that a lane handles at once, so that one's latencies pass under the other's arithmetic.
        constexpr i32 at_once = segments_at_once(segments);
#pragma unroll 1
        for (i32 i = lane; i < segments; i += 32 * at_once) {
          Segment at[at_once];
          ACC v[at_once][SEGMENT];
#pragma unroll
          for (i32 n = 0; n < at_once; ++n) {
            at[n] = segment_at(i + n * 32);
            load_segment(my_staging, at[n], v[n]);
          }
#pragma unroll
          for (i32 n = 0; n < at_once; ++n) {
            const i32 row = row0 + step / chunks * 64 + at[n].row;
            const i32 column = tile.col + column0 + at[n].column;
            if (SWAPPED)
              epilogue(TCC_BUFFERS tile.batch, column, row / SEGMENT, v[n]);
            else
              epilogue(TCC_BUFFERS tile.batch, row, column / SEGMENT, v[n]);
          }
        }
        __syncwarp();
      }
    }
  }
  // Nobody leaves while a peer may still use its shared memory.
  if (CLUSTER_SIZE > 1) cluster_sync();
}
