// Operands of 8 bits whose elements 128 threads compute by the load hook. wgmma reads bytes along k alone.
#include "sm90_computed.cuh"

// Values of 8 bits, as their type has them.
template <Element E, class Acc> TCC_FN u32 pack_bytes(Acc a, Acc b, Acc c, Acc d) {
  if constexpr (is_integer(E)) {
    return u32(u8(a)) | u32(u8(b)) << 8 | u32(u8(c)) << 16 | u32(u8(d)) << 24;
  } else if constexpr (E == Element::e5m2) {
    return __byte_perm(tcc_cuda_pack_f16(a, b), tcc_cuda_pack_f16(c, d), 0x7531);  // halves of f16
  } else {
    u32 r;
    asm("{.reg .b16 low, high;\ncvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\ncvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};}" : "=r"(r) : "f"(a), "f"(b), "f"(c), "f"(d));
    return r;
  }
}

// A thread's pieces of a tile of ROWS rows, by load(at, k, v): 16 neighbours along k of one row, or, where vectors run
// along the rows, of a vector's rows, which are turned in registers. Lanes are so arranged that stores of 16 bytes hit
// different banks, and loads across k whole sectors.
template <Element E, class Acc, i32 ROWS, i32 VECTOR, bool ALONG_K, i32 REGISTERS, class LoadHook>
struct ComputedBytes : Sm90Operand<Load::computed> {
  static constexpr i32 height = ALONG_K ? 1 : VECTOR;
  static constexpr i32 loads = ALONG_K ? 16 / VECTOR : 16;
  static constexpr i32 pieces = ROWS * 8 / height;
  static constexpr i32 words = height * 4;
  static constexpr i32 of_thread = (pieces + 127) / 128;
  // Registers of a piece in flight: short vectors take whole ones, and some for what guards them.
  static constexpr i32 load_words = VECTOR < 4 ? loads + 2 : words;
  static constexpr i32 limit = 32 / loads;
  static constexpr i32 fit = REGISTERS / load_words < limit ? REGISTERS / load_words : limit;
  static constexpr i32 most = fit < 1 ? 1 : fit;
  static constexpr i32 at_once = of_thread < most ? of_thread : most;
  static constexpr i32 rounds = (of_thread + at_once - 1) / at_once;
  static constexpr i32 words_in_flight = at_once * load_words;
  struct Values {
    u32 packed[at_once][words];
  };
  i32 thread, row0;
  LoadHook load_hook;

  __device__ __forceinline__ static bool holds(i32 n) { return pieces % (128 * at_once) == 0 || n < pieces; }
  __device__ __forceinline__ static i32 row_of(i32 n) {
    return ALONG_K ? n / 8 : n / height % (ROWS / height) * height;
  }
  __device__ __forceinline__ static i32 k_of(i32 n) {
    return 16 * (ALONG_K ? n % 8 : n / ROWS * height + n % height);
  }

  __device__ __forceinline__ void fetch(Values& values, i32 round, i32 k0) const {
    auto& packed = values.packed;
#pragma unroll
    for (i32 d = 0; d < at_once; ++d) {
      const i32 n = (round * at_once + d) * 128 + thread;
      if (!holds(n)) continue;
      const i32 row = row0 + row_of(n), k = k0 + k_of(n);
      Acc v[16][height];
#pragma unroll
      for (i32 i = 0; i < loads; ++i) {
        Acc u[VECTOR];
        if (ALONG_K)
          load_hook(row, k / VECTOR + i, u);
        else
          load_hook(row / VECTOR, k + i, u);
#pragma unroll
        for (i32 j = 0; j < VECTOR; ++j) (ALONG_K ? v[i * VECTOR + j][0] : v[i][j]) = u[j];
      }
#pragma unroll
      for (i32 i = 0; i < words; ++i) {
        const i32 r = i / 4, at = i % 4 * 4;
        packed[d][i] = pack_bytes<E>(v[at][r], v[at + 1][r], v[at + 2][r], v[at + 3][r]);
      }
    }
  }

  __device__ __forceinline__ void store(const Values& values, i32 round, u32 tile) const {
#pragma unroll
    for (i32 d = 0; d < at_once; ++d) {
      const i32 n = (round * at_once + d) * 128 + thread;
      if (!holds(n)) continue;
      const u32(&w)[words] = values.packed[d];
#pragma unroll
      for (i32 i = 0; i < height; ++i)
        store_shared(tile + tile_offset<E, true>(row_of(n) + i, k_of(n)),
                     Uint4{w[i * 4], w[i * 4 + 1], w[i * 4 + 2], w[i * 4 + 3]});
    }
  }
};
