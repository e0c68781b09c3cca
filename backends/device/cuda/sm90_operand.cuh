// How a warpgroup brings the tiles of an operand to a stage: what the kinds of operands have in common, and the kind
// that TMA copies. An operand is made for each tile of the result. Its producer (sm90_producer.cuh) calls, of each k tile,
//   fetch(values, round, k)   computed: a round of values into registers; the first one before the stage is free
//   copy(to, full, k)         tiles, im2col: one lane starts copies whose bytes count for the stage's barrier
//   store(values, round, to)  computed: a round of values to shared memory
//   load, store, ..._tails    rows: units of rows from memory to registers, and from there to shared memory
#include "matrix.cuh"
#include "sm90_pipeline.cuh"

// Defaults for what a kind of operand does not do.
template <Load LOAD> struct Sm90Operand {
  static constexpr Load kind = LOAD;
  static constexpr i32 copied_bytes = 0;                 // by TMA, of a stage at most, and of the tile that begins at k
  __device__ __forceinline__ static constexpr i32 bytes_at(i32) { return 0; }
  static constexpr i32 rounds = 0, words_in_flight = 0;  // computed
  static constexpr i32 units = 0;                       // rows
  struct Values {};                                     // computed: what is in flight, in registers
};

// An operand's tiles of ROWS rows (or columns), copied by TMA. SHARE workgroups of a cluster need the same tile: each
// copies a slice for all. Rows: their number, ROWS or, where boxes are clipped to an operand of fewer rows, what comes at
// run time.
template <i32 RANK, Element E, bool MAJOR_K, i32 ROWS, i32 SHARE, class Rows = Size<ROWS>>
struct TiledOperand : Sm90Operand<Load::tiles> {
  static constexpr i32 copied_bytes = ROWS * 128;
  __device__ __forceinline__ i32 bytes_at(i32) const { return rows_copied * 128; }
  const TensorMap& map;
  i32 slice, at;
  u16 mask;  // the workgroups of the cluster that need the tile
  i32 batch[3];
  Rows rows_copied;

  template <class BatchHook>
  __device__ __forceinline__ TiledOperand(const TensorMap& map, i32 slice, u16 mask, i32 number, i32 at, BatchHook hook,
                                          Rows rows_copied = Rows(ROWS))
      : map(map), slice(slice), at(at), mask(mask), batch{0, 0, 0}, rows_copied(rows_copied) {
    if constexpr (RANK > 2) hook(number, batch);
  }

  __device__ __forceinline__ void copy(u32 to, u32 full, i32 k) const {
    if constexpr (MAJOR_K) {
      constexpr i32 rows = ROWS / SHARE;
      static_assert(rows % 8 == 0 && rows <= 256, "swizzled rows come in eights");
      tma_load<RANK, (SHARE > 1)>(to + slice * rows * 128, map, full, mask, k, at + slice * rows, batch);
    } else {
      // A box has as many k as rows.
      constexpr i32 side = 128 / bytes_of(E), depth = side / SHARE;
#pragma unroll
      for (i32 box = 0; box < ROWS / side && box * side < rows_copied; ++box)
        tma_load<RANK, (SHARE > 1)>(to + box * (side * 128) + slice * depth * 128, map, full, mask, at + box * side,
                                    k + slice * depth, batch);
    }
  }
};
