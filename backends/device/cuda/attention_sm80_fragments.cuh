// The fragments of attention_sm80's products, and how a lane's results lie in a row.
//
// Queries and keys come by ldmatrix, whatever their elements: a chunk of 16 bytes of a row is what four lanes have of a
// fragment. The weights are accumulators of the product before: of eight keys, lane t of a quad has keys 2 t and 2 t + 1.
// Two such pairs are a fragment of 16 bits. One of words has keys t and t + 4 of eight in a lane: here these are the
// 2 t-th and the (2 t + 1)-th, of weights and of values, since a sum has any order. And ldmatrix transposes 16 bits
// alone: of words, lanes read 16 bytes of the rows of their keys, the columns 4 g to 4 g + 3 of 32, g being lane / 4.
// These are the g-th columns of four fragments, so that lane t of a quad has the columns 8 t to 8 t + 7 of the results.
#include "sm80_tile.cuh"
#include "attention_rows.cuh"

TCC_FN void load_words(u32 shared, u32& r0, u32& r1, u32& r2, u32& r3) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(shared));
}

// A lane's part of a warp's fragments that lie `first` rows into a tile: where its rows begin, and its chunk there.
template <class Tile> struct Lane {
  u32 begin, chunk;
  __device__ __forceinline__ Lane(i32 first, i32 row, i32 chunk)
      : begin((first + row) * Tile::ROW_BYTES), chunk((chunk ^ Tile::swizzle(row)) * 16) {}
  // The address `rows` rows and `chunks` chunks on in the tile at `tile`. Both are even, or both odd from an even row on,
  // whose neighbour has its chunks swapped in pairs.
  __device__ __forceinline__ u32 at(u32 tile, i32 rows, i32 chunks) const {
    return tile + begin + (u32(chunks % 8 * 16) ^ chunk) + (rows * Tile::ROW_BYTES + chunks / 8 * 128);
  }
};

// A lane's part of the values that a warp multiplies, `first` rows into a tile.
template <Element E, class Tile> struct ValueFragments {
  static constexpr bool WORDS = bytes_of(E) == 4;
  static constexpr i32 COUNT = WORDS ? 4 : 2;  // fragments of 8 columns that are read at once
  static_assert(!WORDS || (Tile::PERMUTED == 8 && Tile::CHUNKS % 8 == 0), "rows are whole lines of banks");
  Lane<Tile> lane;

  __device__ __forceinline__ ValueFragments(i32 first, i32 lane)
      : lane(first, WORDS ? lane % 4 * 2 : lane & 15, WORDS ? lane / 4 : lane >> 4) {}
  // The group-th COUNT fragments of the step-th 32 bytes of keys.
  __device__ __forceinline__ void read(u32 tile, i32 step, i32 group, u32 (&f)[COUNT][2]) const {
    if constexpr (WORDS) {
      // A lane's second row is odd, and its chunks swapped with their neighbours'.
      load_words(lane.at(tile, step * 8, group * 8), f[0][0], f[1][0], f[2][0], f[3][0]);
      load_words(lane.at(tile, step * 8 + 1, group * 8 + 1), f[0][1], f[1][1], f[2][1], f[3][1]);
    } else {
      load_matrices<true>(lane.at(tile, step * 16, group * 2), f[0][0], f[0][1], f[1][0], f[1][1]);
    }
  }
};

// Rounds to tf32: to nearest, and away from zero between two. A matrix unit takes no more bits, so that one addition does
// where x is FINITE.
template <bool FINITE> TCC_FN u32 round_to_tf32(f32 x) {
  if constexpr (FINITE) {
    return tcc_f32_bits(x) + 0x1000u;
  } else {
    u32 rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
  }
}

// The weights of the step-th 32 bytes of keys as a fragment: those of a row and of the eighth below. Where they are
// FINITE, the sum of a row with a NaN says so.
template <Element E, bool FINITE, i32 TILES> TCC_FN void weight_fragment(const f32 (&s)[TILES][4], i32 step, u32 (&p)[4]) {
#pragma unroll
  for (i32 i = 0; i < 4; ++i)
    if constexpr (E == Element::tf32)
      p[i] = round_to_tf32<FINITE>(s[step][i % 2 * 2 + i / 2]);
    else
      p[i] = pack_elements<E>(s[step * 2 + i / 2][i % 2 * 2], s[step * 2 + i / 2][i % 2 * 2 + 1]);
}

// Lane t of a quad has a row's pairs of four fragments of results, v. It gets the t-th eight of their columns.
template <Element E> TCC_FN void result_segment(f32 (&v)[4][2], i32 t, f32 (&segment)[8]) {
  if constexpr (bytes_of(E) == 2) exchange_pairs(v, t);
#pragma unroll
  for (i32 i = 0; i < 8; ++i) segment[i] = bytes_of(E) == 2 ? v[i / 2][i % 2] : v[i % 4][i / 4];
}

// Lane t of a quad stores its results of half r of 16 rows to their row.
template <Element E, i32 TILES> TCC_FN void put_results(f32* row, const f32 (&o)[TILES][4], i32 r, i32 t) {
  if constexpr (bytes_of(E) == 2) {
#pragma unroll
    for (i32 e = 0; e < TILES; ++e) *(float2*)(row + e * 8 + t * 2) = make_float2(o[e][r * 2], o[e][r * 2 + 1]);
  } else {
#pragma unroll
    for (i32 e = 0; e < TILES; e += 4)
#pragma unroll
      for (i32 i = 0; i < 2; ++i)
        *(float4*)(row + (e + t) * 8 + i * 4) =
            make_float4(o[e][r * 2 + i], o[e + 1][r * 2 + i], o[e + 2][r * 2 + i], o[e + 3][r * 2 + i]);
  }
}
