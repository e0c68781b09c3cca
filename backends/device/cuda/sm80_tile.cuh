// Tiles of operands in swizzled shared memory, and the fragments that warps read from them.
#include "mma.cuh"

// A tile of ROWS lines along the axis that is contiguous in memory, each of whole chunks of 16 bytes, the unit of
// swizzling and of ldmatrix rows. Chunks of neighbouring rows are permuted so that the eight rows of an ldmatrix lie in
// different banks, and likewise the four k x eight m words that a warp reads of a tf32 tile along m.
template <Element E, bool MAJOR_K_, i32 BLOCK, i32 BLOCK_K>
struct SharedTile {
  using Value = Stored<E>;
  static constexpr bool MAJOR_K = MAJOR_K_;
  static constexpr i32 CHUNK = 16 / sizeof(Value);  // elements
  static constexpr i32 ROWS = MAJOR_K ? BLOCK : BLOCK_K, COLUMNS = MAJOR_K ? BLOCK_K : BLOCK;
  static constexpr i32 ROW_BYTES = COLUMNS * sizeof(Value), BYTES = ROWS * ROW_BYTES;
  static constexpr i32 CHUNKS = COLUMNS / CHUNK;
  static constexpr i32 PERMUTED = CHUNKS % 8 == 0 ? 8 : CHUNKS % 4 == 0 ? 4 : 2;
  static constexpr bool WORDS = !MAJOR_K && E == Element::tf32;  // read word by word: ldmatrix transposes only 16 bits

  // The chunk numbers of a row are xored with this.
  TCC_FN u32 swizzle(u32 row) { return (WORDS ? 2 * row : row / (8 / PERMUTED)) & (PERMUTED - 1); }
  // Byte offset of an element.
  TCC_FN u32 offset(u32 row, u32 column) {
    return row * ROW_BYTES + (column / CHUNK ^ swizzle(row)) * 16 + column % CHUNK * u32(sizeof(Value));
  }
};

// A lane's part of a warp's fragments: the row, and the chunk within it before and after swizzling. Fragments start at
// even chunks and multiples of 8 rows, so that the lane's part of the swizzle is the same in all of them.
template <class Tile> struct FragmentsOfA {
  i32 warp_m;  // the warp's first row
  u32 lane_at, swizzled;

  __device__ __forceinline__ FragmentsOfA(i32 warp_m, i32 lane) : warp_m(warp_m) {
    const i32 high = lane >> 3 & 1, upper = lane >> 4, group = lane / 4, in_group = lane % 4;
    const i32 row = Tile::WORDS ? in_group : Tile::MAJOR_K ? warp_m + (lane & 15) : (lane & 7) + upper * 8;
    const i32 chunk = Tile::WORDS ? group / 4 : Tile::MAJOR_K ? upper : high;
    lane_at = row * Tile::ROW_BYTES + (Tile::WORDS ? group % 4 * 4 : 0);
    swizzled = (chunk ^ Tile::swizzle(row)) * 16;
  }
  // Those of k step `step` of the tile at `tile`.
  template <i32 FRAGMENTS> __device__ __forceinline__ void read(u32 tile, i32 step, u32 (&a)[FRAGMENTS][4]) const {
    const u32 at = tile + lane_at;
#pragma unroll
    for (i32 i = 0; i < FRAGMENTS; ++i) {
      if (Tile::WORDS) {
#pragma unroll
        for (i32 w = 0; w < 4; ++w)
          a[i][w] = load_word(at + (step * 8 + w / 2 * 4) * Tile::ROW_BYTES +
                              (u32((warp_m + i * 16 + w % 2 * 8) / Tile::CHUNK * 16) ^ swizzled));
      } else if (Tile::MAJOR_K) {
        load_matrices<false>(at + i * 16 * Tile::ROW_BYTES + (u32(step * 32) ^ swizzled), a[i][0], a[i][1], a[i][2],
                             a[i][3]);
      } else {
        load_matrices<true>(at + step * 16 * Tile::ROW_BYTES + (u32((warp_m + i * 16) / Tile::CHUNK * 16) ^ swizzled),
                            a[i][0], a[i][1], a[i][2], a[i][3]);
      }
    }
  }
};
template <class Tile> struct FragmentsOfB {
  i32 warp_n;  // the warp's first column
  u32 lane_at, swizzled;

  __device__ __forceinline__ FragmentsOfB(i32 warp_n, i32 lane) : warp_n(warp_n) {
    const i32 high = lane >> 3 & 1, upper = lane >> 4, group = lane / 4, in_group = lane % 4;
    const i32 row = Tile::WORDS ? in_group : Tile::MAJOR_K ? warp_n + (lane & 7) + upper * 8 : lane & 15;
    const i32 chunk = Tile::WORDS ? group / 4 : Tile::MAJOR_K ? high : upper;
    lane_at = row * Tile::ROW_BYTES + (Tile::WORDS ? group % 4 * 4 : 0);
    swizzled = (chunk ^ Tile::swizzle(row)) * 16;
  }
  // Columns j * 8 to j * 8 + 15.
  __device__ __forceinline__ void read(u32 tile, i32 step, i32 j, u32 (&b0)[2], u32 (&b1)[2]) const {
    const u32 at = tile + lane_at;
    if (Tile::WORDS) {
#pragma unroll
      for (i32 w = 0; w < 4; ++w)
        (w < 2 ? b0 : b1)[w % 2] = load_word(at + (step * 8 + w % 2 * 4) * Tile::ROW_BYTES +
                                             (u32((warp_n + j * 8 + w / 2 * 8) / Tile::CHUNK * 16) ^ swizzled));
    } else if (Tile::MAJOR_K) {
      load_matrices<false>(at + j * 8 * Tile::ROW_BYTES + (u32(step * 32) ^ swizzled), b0[0], b0[1], b1[0], b1[1]);
    } else {
      load_matrices<true>(at + step * 16 * Tile::ROW_BYTES + (u32((warp_n + j * 8) / Tile::CHUNK * 16) ^ swizzled),
                          b0[0], b0[1], b1[0], b1[1]);
    }
  }
};
