// Products with few rows: out[m, n] = sum over k of A[m, k] * B[k, n], per batch, of 1 to 8 rows for a workgroup.
// Bound by reading B, which streams past once in vectors; A stays in caches. f32 products and sums on ordinary cores.
//
// A lane computes `columns` neighbouring columns of its workgroup's block_m rows over its share of k. lanes_n lanes of
// a warp lie along n, the others along k; warps_n and warps_k warps of a workgroup likewise. Shares of k are summed in a
// fixed order: by shuffles within a warp, through shared memory across warps, by messages across the workgroups of a
// cluster, which finish segments in turn. columns, lanes_n and segment are powers of two.
//
// Where no kernel writes B (fixed_b), the first vectors of B are asked for before the launch before has ended.
// Rows of A that take arithmetic are computed once for a workgroup (staged): it keeps its share of k in shared memory.
// Elements of A may be made of results of their row, as those of a norm: the workgroup reduces the rows first.
//
// The constant `params` is a Gemv (gemv_shape.h). Where rows come at run time, the macro BLOCKS_M is the number of
// workgroups along them. B is bf16, f16 or f32 in memory. Its load says how it is read:
//   tiles     vector_b(buffers, batch, at, k): the offset in its buffer, in elements, of a vector (2 to 16 bytes, so
//             aligned), which divides the contiguous extent
//   computed  load_b(buffers, batch, at, k, v): computes a vector of elements. Guards itself.
//   rows      row_b(buffers, batch, line): the offset of a line's first element, of any alignment; vectors are 16 bytes
// major_k: B's memory is contiguous along k; `at` is a column, `k` counts vectors, a line is a column. Otherwise it is
// contiguous along n; `at` counts vectors, `k` is an element of k, a line is one k; columns are a vector.
// A lane takes k_unit neighbouring k at a time (major_k: a vector), `unroll` such units in flight.
// load_a(buffers, batch, at, k, v) computes a vector of A, along k (it divides k_unit) or along m (it divides the rows);
// zeros beyond k, which comes as far as a multiple of block_k. With results of rows, load_a(buffers, batch, at, k, rows, v)
// gets those of row `at`, and vectors are along k. Hooks of the results:
//   start_rows(buffers, rows)                         what reductions begin with
//   reduce_rows(buffers, batch, at, part, stage, rows)  adds part `part` of row `at` to the results of the stage
//   combine_rows(buffers, stage, other, rows)         adds other threads' results of the stage
// epilogue(buffers, batch, row, part, acc) gets `segment` neighbouring columns from segment * part on, and guards itself;
// where swapped, `segment` neighbouring m of column `row`.
#include "../common/gemv_shape.h"
#include "matrix.cuh"
#include "unaligned.cuh"

#ifndef TCC_ENTRY  // compiled after the prelude alone, with hooks that do the least
#define INDEX i32
#define WORKGROUP 128
#define GRID 512
constexpr Gemv example() {
  Gemv p;
  p.product.n = p.product.k = 4096;
  p.product.a.load = Load::computed;
  p.product.a.vector = p.product.b.vector = p.k_unit = 8;
  p.product.b.buffer = 1;
  p.product.segment = p.columns = 4;
  p.warps_n = p.warps_k = p.unroll = 2;
  return p;
}
constexpr Gemv params = example();
#define TCC_ENTRY extern "C" __global__ void __launch_bounds__(WORKGROUP) gemv_kernel(const f32* b0, const u16* b1, f32* b2)
#define TCC_RELEASE
#define TCC_WAIT
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
static __device__ __forceinline__ void load_a(const f32* b0, const u16* b1, f32* b2, i32 batch, i32 at, i32 k,
                                              f32 (&v)[8]) {
  for (i32 i = 0; i < 8; ++i) v[i] = b0[k * 8 + i];
}
static __device__ __forceinline__ i64 vector_b(const f32* b0, const u16* b1, f32* b2, i32 batch, i32 at, i32 k) {
  return at * 4096 + k * 8;
}
static __device__ __forceinline__ void epilogue(const f32* b0, const u16* b1, f32* b2, i32 batch, i32 row, i32 part,
                                                const f32 (&acc)[4]) {
  for (i32 i = 0; i < 4; ++i) b2[part * 4 + i] = acc[i];
}
#endif

constexpr Product product = params.product;
constexpr Operand A = product.a, B = product.b;
using Element_B = Stored<B.element>;  // in memory
constexpr i32 BLOCK_M = params.block_m, SIZE_N = product.n, SIZE_K = product.k;
constexpr i32 COLUMNS = params.columns, LANES_N = params.lanes_n, WARPS_N = params.warps_n, WARPS_K = params.warps_k;
constexpr i32 K_UNIT = params.k_unit, UNROLL = params.unroll, SEGMENT = product.segment, CLUSTER = params.cluster;
constexpr bool SWAPPED = product.swapped;
constexpr i32 LANES_K = gemv::lanes_k(params);
constexpr i32 LANE_STRIDE = B.major_k ? 1 : LANES_N;  // from a lane to the next along k
constexpr i32 BLOCK_COLUMNS = gemv::block_columns(params), BLOCKS_N = gemv::blocks_n(params);
#ifndef BLOCKS_M
constexpr i32 BLOCKS_M = gemv::blocks_m(params);
static_assert(GRID == product.batches * BLOCKS_N * BLOCKS_M * CLUSTER, "the launch is that of the params");
#endif
constexpr i32 LOADS = gemv::loads(params);
constexpr i32 UNITS = (SIZE_K + K_UNIT - 1) / K_UNIT, UNIT_STEP = gemv::units_k(params);
constexpr bool RAGGED_K = SIZE_K % gemv::block_k(params) != 0, RAGGED_N = SIZE_N % BLOCK_COLUMNS != 0;
static_assert(WORKGROUP == gemv::threads(params), "the workgroup is that of the params");
static_assert(BLOCK_M >= 1 && BLOCK_M <= gemv::kMostRows, "one to eight rows");
static_assert(SWAPPED || BLOCK_COLUMNS % SEGMENT == 0, "a workgroup's columns are whole segments");
static_assert(gemv::legal_units(params), "a unit is a vector along its contiguous axis");
static_assert(B.load != Load::rows || B.vector * bytes_of(B.element) == 16,
              "lines of any alignment are read in chunks of 16 bytes");

constexpr i32 WORDS = (B.vector * bytes_of(B.element) + 3) / 4;

TCC_FN f32 widen(u32 word, bool upper) {
  if constexpr (B.element == Element::bf16)
    return __uint_as_float(upper ? word & 0xffff0000u : word << 16);
  else if constexpr (B.element == Element::f16)
    return TCC_F16_TO_F32(upper ? word >> 16 : word & 0xffffu);
  else
    return __uint_as_float(word);
}

template <i32 COUNT>
TCC_FN void widen_vector(const u32 (&w)[COUNT], f32 (&v)[B.vector]) {
  constexpr bool wide = bytes_of(B.element) == 4;
#pragma unroll
  for (i32 i = 0; i < B.vector; ++i) v[i] = wide ? widen(w[i], false) : widen(w[i / 2], i % 2 == 1);
}

// Loads a vector that is read once, zeros unless `inside`. Neighbours come along into the L2. Loads of memory that no
// kernel writes leave the L1 first, by which the compiler's check of the machine code tells them (backends/compile/cubin.h):
// they may come before the wait, and are not moved. Others leave nothing in the L1.
TCC_FN void load_once(const Element_B* from, bool inside, u32 (&w)[WORDS]) {
  const u64 at = __cvta_generic_to_global(from);
#pragma unroll
  for (i32 i = 0; i < WORDS; ++i) w[i] = 0;
#define LOAD_IF(how, shape, in, from, flag) "{.reg .pred p; setp.ne.u32 p, " flag ", 0; @p ld.global.nc." how ".L2::128B." shape " " in ", [" from "];}"
#define LOAD_ONCE(shape, in, from, flag, ...)                                                      \
  if constexpr (params.fixed_b)                                                                    \
    asm volatile(LOAD_IF("L1::evict_first", shape, in, from, flag) : __VA_ARGS__ : "l"(at), "r"(u32(inside))); \
  else                                                                                             \
    asm(LOAD_IF("L1::no_allocate", shape, in, from, flag) : __VA_ARGS__ : "l"(at), "r"(u32(inside)))
  if constexpr (WORDS == 4) {
    LOAD_ONCE("v4.u32", "{%0, %1, %2, %3}", "%4", "%5", "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3]));
  } else if constexpr (WORDS == 2) {
    LOAD_ONCE("v2.u32", "{%0, %1}", "%2", "%3", "+r"(w[0]), "+r"(w[1]));
  } else if constexpr (B.vector * bytes_of(B.element) == 4) {
    LOAD_ONCE("u32", "%0", "%1", "%2", "+r"(w[0]));
  } else if (inside) {
    w[0] = *from;
  }
}

// A vector of B as a thread holds it until it multiplies: as it is in memory, or as it was computed.
constexpr i32 HELD = B.load == Load::computed ? B.vector : B.load == Load::rows ? 4 : WORDS;

// Asks for the vector of B that column `column` and element `k` begin at; zeros unless `inside`.
template <class Hooks>
TCC_FN void fetch_vector(const Hooks& hooks, i32 batch, i32 column, i32 k, bool inside, u32 (&w)[HELD]) {
  const i32 at_vector = B.major_k ? column : u32(column) / u32(B.vector);
  const i32 k_vector = B.major_k ? u32(k) / u32(B.vector) : k;
  if constexpr (B.load == Load::computed) {
    f32 v[B.vector];
    hooks.load(batch, at_vector, k_vector, v);
#pragma unroll
    for (i32 i = 0; i < B.vector; ++i) w[i] = __float_as_uint(v[i]);
  } else if constexpr (B.load == Load::tiles) {
    u32 words[WORDS];  // other kernels check this branch too, with their HELD
    load_once((const Element_B*)hooks.buffer + hooks.vector(batch, at_vector, k_vector), inside, words);
#pragma unroll
    for (i32 i = 0; i < HELD; ++i) w[i] = words[i];
  } else {
    const Element_B* const line = (const Element_B*)hooks.buffer + hooks.line(batch, B.major_k ? column : k);
    const i32 at = B.major_k ? k : column, size = B.major_k ? SIZE_K : SIZE_N;
    u32 words[4];
    shift_unaligned<Element_B>(fetch_unaligned(line, at, size, inside), size - at, words);
#pragma unroll
    for (i32 i = 0; i < HELD; ++i) w[i] = words[i];
  }
}
TCC_FN void read_vector(const u32 (&w)[HELD], f32 (&v)[B.vector]) {
  if constexpr (B.load == Load::computed) {
#pragma unroll
    for (i32 i = 0; i < B.vector; ++i) v[i] = __uint_as_float(w[i]);
  } else {
    widen_vector(w, v);
  }
}

// Sums x over the lanes along k. While there are several columns, each half of the lanes goes on with half of them; at
// last a lane holds the returned number of columns, from `first` on, and `owner` tells one of the lanes that hold the
// same.
template <i32 COUNT = COLUMNS, i32 DISTANCE = LANES_K / 2>
TCC_FN constexpr i32 sum_lanes(f32 (&x)[BLOCK_M][COLUMNS], i32 lane_k, i32& first, bool& owner) {
  if constexpr (DISTANCE == 0) {
    return COUNT;
  } else if constexpr (COUNT == 1) {
#pragma unroll
    for (i32 m = 0; m < BLOCK_M; ++m) x[m][0] += __shfl_xor_sync(0xffffffffu, x[m][0], DISTANCE * LANE_STRIDE);
    owner = owner && (lane_k & DISTANCE) == 0;
    return sum_lanes<1, DISTANCE / 2>(x, lane_k, first, owner);
  } else {
    const bool upper = (lane_k & DISTANCE) != 0;
#pragma unroll
    for (i32 m = 0; m < BLOCK_M; ++m)
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

// Segments along n of each row, or, swapped, along m of each column.
constexpr i32 LINE = SWAPPED ? BLOCK_M : BLOCK_COLUMNS, LINES = SWAPPED ? BLOCK_COLUMNS : BLOCK_M;
constexpr i32 PARTS = (LINE + SEGMENT - 1) / SEGMENT;

// The workgroup of the cluster that finishes the segment of an element.
TCC_FN i32 owner_of(i32 m, i32 column) {
  return ((SWAPPED ? column : m) * PARTS + (SWAPPED ? m : column) / SEGMENT) % CLUSTER;
}
// The elements of the segments that workgroup `rank` finishes.
TCC_FN i32 owned_by(i32 rank) {
  i32 elements = 0;
#pragma unroll
  for (i32 n = 0; n < LINES * PARTS; ++n) elements += n % CLUSTER == rank ? min(SEGMENT, LINE - n % PARTS * SEGMENT) : 0;
  return elements;
}

constexpr RowResults ROWS = params.rows;
constexpr i32 RESULTS = ROWS.results > 0 ? i32(ROWS.results) : 1, WARPS = WARPS_N * WARPS_K;
constexpr bool STAGED = params.staged;
constexpr i32 OWN_UNITS = LANES_K * WARPS_K, OWN_K = gemv::own_k(params);  // a workgroup's units of a step, and all its k
static_assert(ROWS.results == 0 || A.vector_along_k, "rows with results are read along k");

__shared__ f32 partial[WARPS_K][BLOCK_M][BLOCK_COLUMNS];
__shared__ f32 row_results[2][WARPS][BLOCK_M][RESULTS];
__shared__ __align__(16) f32 staged[STAGED ? BLOCK_M : 1][STAGED ? OWN_K : 1];
__shared__ f32 inbox[CLUSTER > 1 ? CLUSTER : 1][CLUSTER > 1 ? BLOCK_M : 1][CLUSTER > 1 ? BLOCK_COLUMNS : 1];
__shared__ u64 sent;
static_assert(sizeof(partial) + (CLUSTER > 1 ? sizeof(inbox) : 0) + (STAGED ? sizeof(staged) : 0) +
                      (ROWS.results > 0 ? sizeof(row_results) : 0) ==
                  gemv::shared_bytes(params),
              "the host knows the storage");

// Reduces the rows, stage by stage: threads their parts, then the lanes of a warp, then the warps. All threads get all
// results.
template <class Hooks>
TCC_FN void reduce_all_rows(const Hooks& hooks, i32 thread, f32 (&rows)[BLOCK_M][RESULTS]) {
  const i32 warp = thread / 32, lane = thread % 32;
#pragma unroll
  for (i32 m = 0; m < BLOCK_M; ++m) hooks.start(rows[m]);
#pragma unroll
  for (i32 stage = 0; stage < ROWS.stages; ++stage) {
#pragma unroll 2
    for (i32 part = thread; part < ROWS.parts; part += WORKGROUP)
#pragma unroll
      for (i32 m = 0; m < BLOCK_M; ++m) hooks.reduce(m, part, stage, rows[m]);
    f32 other[RESULTS];
#pragma unroll
    for (i32 distance = 16; distance > 0; distance /= 2)
#pragma unroll
      for (i32 m = 0; m < BLOCK_M; ++m) {
#pragma unroll
        for (i32 r = 0; r < RESULTS; ++r) other[r] = __shfl_xor_sync(0xffffffffu, rows[m][r], distance);
        hooks.combine(stage, other, rows[m]);
      }
    auto& shared = row_results[stage % 2];
    if (lane == 0)
#pragma unroll
      for (i32 m = 0; m < BLOCK_M; ++m)
#pragma unroll
        for (i32 r = 0; r < RESULTS; ++r) shared[warp][m][r] = rows[m][r];
    __syncthreads();
#pragma unroll
    for (i32 m = 0; m < BLOCK_M; ++m) {
#pragma unroll
      for (i32 r = 0; r < RESULTS; ++r) rows[m][r] = shared[0][m][r];
#pragma unroll
      for (i32 w = 1; w < WARPS; ++w) {
#pragma unroll
        for (i32 r = 0; r < RESULTS; ++r) other[r] = shared[w][m][r];
        hooks.combine(stage, other, rows[m]);
      }
    }
  }
}

template <class Start, class Reduce, class Combine> struct RowHooks {
  Start start;
  Reduce reduce;
  Combine combine;
};
template <class Start, class Reduce, class Combine> RowHooks(Start, Reduce, Combine) -> RowHooks<Start, Reduce, Combine>;

TCC_ENTRY {
  TCC_RELEASE
  const i32 thread = i32(TCC_THREAD), warp = thread / 32, lane = thread % 32;
  const INDEX block = INDEX(TCC_BLOCK);
  if constexpr (!params.fixed_b) { TCC_WAIT }
  if (block >= GRID) return;
  // Neighbours share columns, so that they read B at once.
  const INDEX tile = block / CLUSTER / BLOCKS_M;
  const i32 rank = i32(block % CLUSTER), row0 = i32(block / CLUSTER % BLOCKS_M) * BLOCK_M;
  const i32 batch = i32(tile / BLOCKS_N), col0 = i32(tile % BLOCKS_N) * BLOCK_COLUMNS;
  if constexpr (CLUSTER > 1) {
    tcc_cuda_expect(&sent, u32(owned_by(rank) * CLUSTER * i32(sizeof(f32))));
    tcc_cuda_cluster_arrive();
  }
  const i32 warp_n = warp % WARPS_N, warp_k = warp / WARPS_N;
  const i32 lane_k = lane / LANE_STRIDE % LANES_K, lane_n = B.major_k ? lane / LANES_K : lane % LANES_N;
  const i32 lane_column = (warp_n * LANES_N + lane_n) * COLUMNS;

  const auto hooks_b = OPERAND_HOOKS(b, B.buffer);
  u32 b[UNROLL][LOADS][HELD];
  auto fetch = [&](i32 first) {
#pragma unroll
    for (i32 u = 0; u < UNROLL; ++u)
#pragma unroll
      for (i32 i = 0; i < LOADS; ++i) {
        const i32 column = col0 + lane_column + (B.major_k ? i : 0);
        const i32 k = (first + u * UNIT_STEP) * K_UNIT + (B.major_k ? 0 : i);
        const bool inside = (!RAGGED_K || k < SIZE_K) && (!RAGGED_N || column < SIZE_N);
        fetch_vector(hooks_b, batch, column, k, inside, b[u][i]);
      }
  };
  const i32 own_unit = warp_k * LANES_K + lane_k;  // of each step's
  i32 unit0 = rank * OWN_UNITS + own_unit;
  if (unit0 < UNITS) fetch(unit0);
  if constexpr (params.fixed_b) { TCC_WAIT }

  // The hooks are looked up when they are called.
  f32 rows[BLOCK_M][RESULTS];
  auto compute_a = [&](i32 m, i32 k, auto& of_row, auto& v) {
    const i32 at = (row0 + m) / (A.vector_along_k ? 1 : A.vector);
    if constexpr (ROWS.results > 0)
      load_a(TCC_BUFFERS batch, at, k, of_row, v);
    else
      load_a(TCC_BUFFERS batch, at, k, v);
  };
  if constexpr (ROWS.results > 0)
    reduce_all_rows(RowHooks{[&](auto& x) { start_rows(TCC_BUFFERS x); },
                             [&](i32 m, i32 part, i32 stage, auto& x) { reduce_rows(TCC_BUFFERS batch, row0 + m, part, stage, x); },
                             [&](i32 stage, auto& other, auto& x) { combine_rows(TCC_BUFFERS stage, other, x); }},
                    thread, rows);
  if constexpr (STAGED) {
    constexpr i32 WIDE = A.vector, ROW_WIDTH = A.vector_along_k ? 1 : WIDE, K_WIDTH = A.vector_along_k ? WIDE : 1;
#pragma unroll 1
    for (i32 i = thread * K_WIDTH; i < OWN_K; i += WORKGROUP * K_WIDTH) {
      const i32 unit = i / K_UNIT, k = (unit / OWN_UNITS * UNIT_STEP + rank * OWN_UNITS + unit % OWN_UNITS) * K_UNIT + i % K_UNIT;
#pragma unroll
      for (i32 m = 0; m < BLOCK_M; m += ROW_WIDTH) {
        f32 v[WIDE];
        compute_a(m, k / K_WIDTH, rows[m], v);
#pragma unroll
        for (i32 j = 0; j < WIDE; ++j) staged[m + (A.vector_along_k ? 0 : j)][i + (A.vector_along_k ? j : 0)] = v[j];
      }
    }
    __syncthreads();
  }

  f32 acc[BLOCK_M][COLUMNS];
#pragma unroll
  for (i32 m = 0; m < BLOCK_M; ++m)
#pragma unroll
    for (i32 c = 0; c < COLUMNS; ++c) acc[m][c] = 0.0f;

  i32 own = own_unit * K_UNIT;  // the place of unit0 in `staged`
#pragma unroll 1
  while (unit0 < UNITS) {
#pragma unroll
    for (i32 u = 0; u < UNROLL; ++u) {
      const i32 unit = unit0 + u * UNIT_STEP;
      f32 x[LOADS][B.vector];
#pragma unroll
      for (i32 i = 0; i < LOADS; ++i) read_vector(b[u][i], x[i]);
      auto multiply = [&](i32 m, i32 i, f32 a) {
#pragma unroll
        for (i32 c = 0; c < COLUMNS; ++c) acc[m][c] = tcc_fma_f32(a, B.major_k ? x[c][i] : x[i][c], acc[m][c]);
      };
      if constexpr (STAGED) {
#pragma unroll
        for (i32 m = 0; m < BLOCK_M; ++m)
#pragma unroll
          for (i32 i = 0; i < K_UNIT; ++i) multiply(m, i, staged[m][own + u * OWN_UNITS * K_UNIT + i]);
      } else if constexpr (A.vector_along_k) {
#pragma unroll
        for (i32 m = 0; m < BLOCK_M; ++m)
#pragma unroll
          for (i32 p = 0; p < K_UNIT / A.vector; ++p) {
            f32 a[A.vector];
            compute_a(m, unit * (K_UNIT / A.vector) + p, rows[m], a);
#pragma unroll
            for (i32 v = 0; v < A.vector; ++v) multiply(m, p * A.vector + v, a[v]);
          }
      } else {
#pragma unroll
        for (i32 i = 0; i < K_UNIT; ++i)
#pragma unroll
          for (i32 p = 0; p < BLOCK_M / A.vector; ++p) {
            f32 a[A.vector];
            compute_a(p * A.vector, unit * K_UNIT + i, rows[0], a);
#pragma unroll
            for (i32 v = 0; v < A.vector; ++v) multiply(p * A.vector + v, i, a[v]);
          }
      }
    }
    unit0 += UNIT_STEP * UNROLL;
    own += OWN_UNITS * UNROLL * K_UNIT;
    if (unit0 < UNITS) fetch(unit0);
  }

  i32 first = 0;
  bool owner = true;
  const i32 held = sum_lanes(acc, lane_k, first, owner);
  if (owner) {
#pragma unroll
    for (i32 m = 0; m < BLOCK_M; ++m)
#pragma unroll
      for (i32 c = 0; c < COLUMNS; ++c)
        if (c < held) partial[warp_k][m][lane_column + first + c] = acc[m][c];
  }
  __syncthreads();

  if constexpr (CLUSTER > 1) {
    tcc_cuda_cluster_wait();  // all barriers are there
#pragma unroll 1
    for (i32 i = thread; i < BLOCK_M * BLOCK_COLUMNS; i += WORKGROUP) {
      const i32 m = i / BLOCK_COLUMNS, column = i % BLOCK_COLUMNS, owner = owner_of(m, column);
      f32 sum = 0.0f;
#pragma unroll
      for (i32 w = 0; w < WARPS_K; ++w) sum += partial[w][m][column];
      tcc_cuda_store_async(tcc_cuda_peer(tcc_cuda_shared(&inbox[rank][m][column]), owner), tcc_cuda_bits(sum),
                           tcc_cuda_peer(tcc_cuda_shared(&sent), owner));
    }
    tcc_cuda_await(&sent);
  }
#pragma unroll 1
  for (i32 n = rank + CLUSTER * thread; n < LINES * PARTS; n += CLUSTER * WORKGROUP) {
    const i32 line = n / PARTS, part = n % PARTS;
    f32 segment[SEGMENT];
#pragma unroll
    for (i32 i = 0; i < SEGMENT; ++i) {
      const i32 at = part * SEGMENT + i, m = SWAPPED ? at : line, column = SWAPPED ? line : at;
      segment[i] = 0.0f;
      if (LINE % SEGMENT != 0 && at >= LINE) continue;
#pragma unroll
      for (i32 w = 0; w < (CLUSTER > 1 ? CLUSTER : WARPS_K); ++w)
        segment[i] += CLUSTER > 1 ? inbox[w][m][column] : partial[w][m][column];
    }
    epilogue(TCC_BUFFERS batch, SWAPPED ? col0 + line : row0 + line, (SWAPPED ? row0 : col0) / SEGMENT + part, segment);
  }
}
