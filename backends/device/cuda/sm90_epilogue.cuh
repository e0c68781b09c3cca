// From a warpgroup's accumulators to the epilogue hook: neighbouring lanes get neighbouring segments of the result.
#include "matrix.cuh"
#include "sm90.cuh"

// A warp stages 16 rows and CHUNK columns of sums in shared memory, where segments of 8 lie together: of a row, or with
// SWAPPED of a column. Those that the fragments' stores and the segments' loads touch at once lie in different banks.
// Lanes load segments of SEGMENT (8, 4, 2 or 1).
template <class Acc, i32 EIGHTS_AT_ONCE, i32 SEGMENT, bool SWAPPED> struct Staging {
  static constexpr i32 CHUNK = EIGHTS_AT_ONCE * 8;
  static constexpr i32 segments = 16 * CHUNK / SEGMENT;
  struct Storage {
    Acc sums[16 * CHUNK];
  };
  // The place of a segment's first element.
  struct Segment {
    i32 row, column;
  };

  // Where element (row, column) lies.
  __device__ __forceinline__ static u32 place(i32 row, i32 column) {
    if constexpr (SWAPPED) {
      return u32(column / 2 * 128 + ((column % 2 * 16 + row) ^ column / 2 % 4 * 8) * 4);
    } else {
      constexpr i32 group = EIGHTS_AT_ONCE < 4 ? EIGHTS_AT_ONCE : 4;
      const i32 at = row * EIGHTS_AT_ONCE + (column / 8 ^ (row * group / 4 & (group - 1)));
      return u32(at * 32 + ((column % 8 ^ (at & 4)) * 4));
    }
  }
  __device__ __forceinline__ static Segment segment(i32 n) {
    if constexpr (SWAPPED)
      return {n % (16 / SEGMENT) * SEGMENT, n / (16 / SEGMENT)};
    else
      return {n / (CHUNK / SEGMENT), n % (CHUNK / SEGMENT) * SEGMENT};
  }
  // Segments that a lane handles at once, so that one's latencies pass under the other's arithmetic: `elements` of them.
  __device__ __forceinline__ static constexpr i32 at_once(i32 elements) {
    i32 n = elements / SEGMENT;
    while (n > 1 && segments % (32 * n) != 0) n /= 2;
    return n;
  }
  // A staged segment: 16 bytes or less at once.
  __device__ __forceinline__ static void load(u32 storage, Segment at, Acc (&v)[SEGMENT]) {
    constexpr i32 count = SEGMENT < 4 ? SEGMENT : 4;
#pragma unroll
    for (i32 i = 0; i < SEGMENT; i += count) {
      const u32 from = storage + (SWAPPED ? place(at.row + i, at.column) : place(at.row, at.column + i));
      load_shared<count>(from, v + i);
    }
  }
  // Two neighbouring columns of a fragment.
  __device__ __forceinline__ static void store(u32 storage, i32 row, i32 column, Acc a, Acc b) {
    if constexpr (SWAPPED) {
      store_shared(storage + place(row, column), sum_bits(a));
      store_shared(storage + place(row, column + 1), sum_bits(b));
    } else {
      store_shared(storage + place(row, column), a, b);
    }
  }
  __device__ __forceinline__ static u32 sum_bits(f32 sum) { return tcc_f32_bits(sum); }
  __device__ __forceinline__ static u32 sum_bits(i32 sum) { return u32(sum); }
  __device__ __forceinline__ static u32 sum_bits(u32 sum) { return sum; }
};

// The steps of a group's epilogue: each has 64 rows and CHUNK columns of its sums. OWNED eights of columns are those of
// one of RANKS workgroups.
template <i32 SLABS, i32 EIGHTS, i32 OWNED, i32 RANKS, i32 AT_ONCE> struct EpilogueSteps {
  static constexpr i32 CHUNK = AT_ONCE * 8, chunks = OWNED / AT_ONCE, count = SLABS * chunks;
  static constexpr i32 chunks_of_slab = EIGHTS / AT_ONCE;
  __device__ __forceinline__ static i32 slab(i32 step) { return step / chunks; }
  __device__ __forceinline__ static i32 column(i32 step, i32 rank) {
    return ((RANKS > 1 ? rank * chunks : 0) + step % chunks) * CHUNK;
  }
  // The last rank may own fewer columns.
  __device__ __forceinline__ static bool is_step(i32 column) { return OWNED * RANKS <= EIGHTS || column < EIGHTS * 8; }
};

// The strips of an epilogue that reads what it needs by its hook: none. sm90_strips.cuh has the other kind.
struct NoStrips {
  struct Tiles {};
  struct Barriers {};
  struct Values {};
  __device__ __forceinline__ static void init(u32, u32) {}
  __device__ __forceinline__ NoStrips(u32, u32, i32, i32, i32) {}
  template <class Hooks> __device__ __forceinline__ void load(const Hooks&, i32, i32, i32) {}
  __device__ __forceinline__ void wait() const {}
  __device__ __forceinline__ void read(i32, i32, Values&) const {}
  template <class Store, class... Arguments>
  __device__ __forceinline__ static void pass(const Store& store, const Values&, const Arguments&... arguments) {
    store(arguments...);
  }
  __device__ __forceinline__ void release() {}
};

// Stores the accumulators of 16 rows of each of SLABS times 64, and of the steps' columns of `rank`, by store(row, column,
// segment, residuals' segments...), whose row and column count from this warp's first one on. `add(v, m, e)` completes
// four sums. ELEMENTS of the result are in a lane's registers at once. The loop is rolled, so that the hook is compiled
// once.
template <class Unit, class Staged, class Steps, i32 ELEMENTS, i32 SLABS, class Acc, i32 SUMS, class Strips, class Add, class Store>
TCC_FN void store_sums(const Acc (&acc)[SLABS][SUMS], u32 storage, i32 rank, i32 lane, Strips& strips, const Add& add,
                       const Store& store) {
  constexpr i32 AT_ONCE = Staged::CHUNK / 8, chunks = Steps::chunks_of_slab;
#pragma unroll 1
  for (i32 step = 0; step < Steps::count; ++step) {
    const i32 column0 = Steps::column(step, rank);
    if (!Steps::is_step(column0)) continue;
    // Accumulators are registers: their indices must be constants, not the number of the step, which the compiler takes
    // where it knows them to be equal.
#pragma unroll
    for (i32 s = 0; s < SLABS * chunks; ++s) {
      i32 distance = Steps::slab(step) * chunks + column0 / Staged::CHUNK - s;
      asm volatile("" : "+r"(distance));
      if (distance != 0) continue;
#pragma unroll
      for (i32 j = 0; j < AT_ONCE; ++j) {
        const i32 m = s / chunks, e = s % chunks * AT_ONCE + j;
        Acc v[4] = {acc[m][e * 4], acc[m][e * 4 + 1], acc[m][e * 4 + 2], acc[m][e * 4 + 3]};
        add(v, m, e);
        Unit::template stage<Staged>(storage, lane, j, v);
      }
    }
    __syncwarp();
    strips.wait();
    constexpr i32 at_once = Staged::at_once(ELEMENTS);
    constexpr i32 segment_size = 16 * Staged::CHUNK / Staged::segments;
#pragma unroll 1
    for (i32 i = lane; i < Staged::segments; i += 32 * at_once) {
      typename Staged::Segment at[at_once];
      Acc v[at_once][segment_size];
      typename Strips::Values residual[at_once];
#pragma unroll
      for (i32 n = 0; n < at_once; ++n) {
        at[n] = Staged::segment(i + n * 32);
        Staged::load(storage, at[n], v[n]);
        strips.read(at[n].row, at[n].column, residual[n]);
      }
#pragma unroll
      for (i32 n = 0; n < at_once; ++n)
        Strips::pass(store, residual[n], Steps::slab(step) * 64 + at[n].row, column0 + at[n].column, v[n]);
    }
    __syncwarp();
    strips.release();
  }
}
