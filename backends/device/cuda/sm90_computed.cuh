// Operands whose elements 128 threads compute by the load hook: index maps, prologues. Elements of 16 and 32 bits.
#include "sm90_operand.cuh"

// Where element (row, k) of a swizzled tile lies.
template <Element E, bool MAJOR_K> TCC_FN u32 tile_offset(i32 row, i32 k) {
  constexpr i32 BYTES = bytes_of(E);
  if constexpr (MAJOR_K) return row * 128 + ((k * BYTES) ^ ((row & 7) << 4));
  constexpr i32 SIDE = 128 / BYTES;  // rows of a line, and k of a box
  return row / SIDE * (SIDE * 128) + k * 128 + ((row % SIDE * BYTES) ^ ((k & 7) << 4));
}

// A thread's vectors of a tile of ROWS rows, by load(at, k, v), whose vectors run along k or along the rows: packed as
// wgmma reads them, then stored. Tiles of more vectors than fit in REGISTERS of a thread take several rounds.
template <Element E, i32 ROWS, i32 VECTOR, bool ALONG_K, bool MAJOR_K, i32 REGISTERS, class LoadHook>
struct ComputedOperand : Sm90Operand<Load::computed> {
  static constexpr i32 BYTES = bytes_of(E), BLOCK_K = 128 / BYTES;
  static constexpr i32 vectors = ROWS * BLOCK_K / VECTOR;
  static constexpr i32 line = (ALONG_K ? BLOCK_K : ROWS) / VECTOR;
  static constexpr i32 words = BYTES == 4 ? VECTOR : (VECTOR + 1) / 2;
  static constexpr i32 of_thread = (vectors + 127) / 128;
  // Registers of a vector in flight: short ones are of f32, or of single elements.
  static constexpr i32 load_words = VECTOR < 8 ? VECTOR : words;
  // Short ones need as many registers again for addresses and bounds.
  static constexpr i32 limit = VECTOR < 8 ? 6 : 16;
  static constexpr i32 most = REGISTERS / load_words < limit ? REGISTERS / load_words : limit;
  static constexpr i32 at_once = of_thread < most ? of_thread : most;
  static constexpr i32 rounds = (of_thread + at_once - 1) / at_once;
  static constexpr i32 words_in_flight = at_once * load_words;
  struct Values {
    u32 packed[at_once][words];
  };
  i32 thread, row0;
  LoadHook load_hook;


  // Every thread has a vector in every place, or only some in the last ones.
  __device__ __forceinline__ static bool holds(i32 n) { return vectors % (128 * at_once) == 0 || n < vectors; }

  __device__ __forceinline__ void fetch(Values& values, i32 round, i32 k0) const {
    auto& packed = values.packed;
#pragma unroll
    for (i32 d = 0; d < at_once; ++d) {
      const i32 n = (round * at_once + d) * 128 + thread;
      if (!holds(n)) continue;
      f32 v[VECTOR];
      if (ALONG_K)
        load_hook(row0 + n / line, k0 / VECTOR + n % line, v);
      else
        load_hook(row0 / VECTOR + n % line, k0 + n / line, v);
#pragma unroll
      for (i32 i = 0; i < words; ++i) {
        if constexpr (BYTES == 4)
          packed[d][i] = tcc_f32_bits(v[i]);
        else if constexpr (VECTOR == 1)
          packed[d][i] = pack_elements<E>(v[0], 0.0f);
        else
          packed[d][i] = pack_elements<E>(v[2 * i], v[2 * i + 1]);
      }
    }
  }

  __device__ __forceinline__ void store(const Values& values, i32 round, u32 tile) const {
#pragma unroll
    for (i32 d = 0; d < at_once; ++d) {
      const i32 n = (round * at_once + d) * 128 + thread;
      if (!holds(n)) continue;
      const i32 row = ALONG_K ? n / line : n % line * VECTOR;
      const i32 k = ALONG_K ? n % line * VECTOR : n / line;
      auto at = [&](i32 i) { return tile + tile_offset<E, MAJOR_K>(ALONG_K ? row : row + i, ALONG_K ? k + i : k); };
      const u32(&w)[words] = values.packed[d];
      constexpr i32 per_word = BYTES == 4 || VECTOR == 1 ? 1 : 2;
      if constexpr (ALONG_K == MAJOR_K && words % 4 == 0) {
#pragma unroll
        for (i32 i = 0; i < words; i += 4) store_shared(at(i * per_word), Uint4{w[i], w[i + 1], w[i + 2], w[i + 3]});
      } else if constexpr (BYTES == 4 || (ALONG_K == MAJOR_K && VECTOR > 1)) {
#pragma unroll
        for (i32 i = 0; i < words; ++i) store_shared(at(i * per_word), w[i]);
      } else {
#pragma unroll
        for (i32 i = 0; i < VECTOR; ++i) store_shared(at(i), u16(i % 2 ? w[i / 2] >> 16 : w[i / 2]));
      }
    }
  }
};

// Stores a tile whose first round was fetched, and fetches and stores the others.
template <class X> TCC_FN void store_computed(const X& x, typename X::Values& values, i32 k, u32 tile) {
  x.store(values, 0, tile);
#pragma unroll 1
  for (i32 round = 1; round < X::rounds; ++round) {
    x.fetch(values, round, k);
    x.store(values, round, tile);
  }
}
