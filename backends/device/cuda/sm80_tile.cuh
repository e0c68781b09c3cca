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

// A lane's part of a warp's fragments: where it reads in the first of them, and how chunks are permuted there. Fragments
// start at even chunks and multiples of 8 rows, so that this is the same in all of them. Tiles lie at multiples of the
// bytes that are permuted. Addresses are sums first and permuted then: those that all k steps share would take registers.
template <class Tile> struct FragmentsOfA {
  u32 lane_at, swizzled;

  __device__ __forceinline__ FragmentsOfA(i32 warp_m, i32 lane) {
    const i32 high = lane >> 3 & 1, upper = lane >> 4, group = lane / 4, in_group = lane % 4;
    const i32 row = Tile::WORDS ? in_group : Tile::MAJOR_K ? warp_m + (lane & 15) : (lane & 7) + upper * 8;
    const i32 chunk = Tile::WORDS ? group / 4 : Tile::MAJOR_K ? upper : high;
    lane_at = row * Tile::ROW_BYTES + (Tile::MAJOR_K ? 0 : warp_m / Tile::CHUNK * 16);
    swizzled = (chunk ^ Tile::swizzle(row)) * 16 + (Tile::WORDS ? group % 4 * 4 : 0);
    if (Tile::MAJOR_K) lane_at += swizzled;
  }
  // Rows i * 16 to i * 16 + 15, in k step `step` of the tile at `tile`.
  __device__ __forceinline__ void read(u32 tile, i32 step, i32 i, u32 (&a)[4]) const {
    if (Tile::WORDS) {
#pragma unroll
      for (i32 w = 0; w < 4; ++w)
        a[w] = load_word((tile + lane_at + (step * 8 + w / 2 * 4) * Tile::ROW_BYTES + (i * 16 + w % 2 * 8) * 4) ^ swizzled);
    } else if (Tile::MAJOR_K) {
      load_matrices<false>(((tile + lane_at) ^ u32(step * 32)) + i * 16 * Tile::ROW_BYTES, a[0], a[1], a[2], a[3]);
    } else {
      load_matrices<true>((tile + lane_at + step * 16 * Tile::ROW_BYTES + i * 32) ^ swizzled, a[0], a[1], a[2], a[3]);
    }
  }
};
template <class Tile> struct FragmentsOfB {
  u32 lane_at, swizzled;

  __device__ __forceinline__ FragmentsOfB(i32 warp_n, i32 lane) {
    const i32 high = lane >> 3 & 1, upper = lane >> 4, group = lane / 4, in_group = lane % 4;
    const i32 row = Tile::WORDS ? in_group : Tile::MAJOR_K ? warp_n + (lane & 7) + upper * 8 : lane & 15;
    const i32 chunk = Tile::WORDS ? group / 4 : Tile::MAJOR_K ? high : upper;
    lane_at = row * Tile::ROW_BYTES + (Tile::MAJOR_K ? 0 : warp_n / Tile::CHUNK * 16);
    swizzled = (chunk ^ Tile::swizzle(row)) * 16 + (Tile::WORDS ? group % 4 * 4 : 0);
    if (Tile::MAJOR_K) lane_at += swizzled;
  }
  // Columns j * 8 to j * 8 + 15.
  __device__ __forceinline__ void read(u32 tile, i32 step, i32 j, u32 (&b0)[2], u32 (&b1)[2]) const {
    if (Tile::WORDS) {
#pragma unroll
      for (i32 w = 0; w < 4; ++w)
        (w < 2 ? b0 : b1)[w % 2] =
            load_word((tile + lane_at + (step * 8 + w % 2 * 4) * Tile::ROW_BYTES + (j * 8 + w / 2 * 8) * 4) ^ swizzled);
    } else if (Tile::MAJOR_K) {
      load_matrices<false>(((tile + lane_at) ^ u32(step * 32)) + j * 8 * Tile::ROW_BYTES, b0[0], b0[1], b1[0], b1[1]);
    } else {
      load_matrices<true>((tile + lane_at + step * 16 * Tile::ROW_BYTES + j * 16) ^ swizzled, b0[0], b0[1], b1[0], b1[1]);
    }
  }
};
