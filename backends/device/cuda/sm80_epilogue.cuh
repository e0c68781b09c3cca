// From a warp's accumulators to the epilogue hook: neighbouring lanes get neighbouring segments of the result.
#include "mma.cuh"

// Stores the accumulators of a warp by store(line, column, segment) of SEGMENT elements, which count from the warp's
// first line and column on. Lines are rows, or, SWAPPED, columns. Sixteen lines of results at a time pass through the
// warp's own shared memory, so that lanes hold neighbouring segments. Lines are padded, and the halves of every second
// four segments exchanged, against bank conflicts.
template <i32 SEGMENT, bool SWAPPED, i32 FRAGMENTS_M, i32 FRAGMENTS_N, class Acc, class Store>
TCC_FN void store_sums(const Acc (&acc)[FRAGMENTS_M][FRAGMENTS_N][4], unsigned char* memory, i32 warp, i32 lane,
                       const Store& store) {
  constexpr i32 WARP_M = FRAGMENTS_M * 16, WARP_N = FRAGMENTS_N * 8;
  constexpr i32 SLABS = (SWAPPED ? WARP_N : WARP_M) / 16, LINE = SWAPPED ? WARP_M : WARP_N;
  constexpr i32 PARTS = LINE / 8, STRIDE = LINE + (SWAPPED ? 4 : 8);
  constexpr i32 WIDTH = SEGMENT < 4 ? SEGMENT : 4, AT_ONCE = 8 / SEGMENT;
  struct alignas(WIDTH * 4) Few {
    Acc v[WIDTH];
  };
  struct alignas(8) Pair {
    Acc x, y;
  };
  static_assert(16 * LINE % (32 * 8) == 0, "lanes have equal shares");
  Acc* const staged = (Acc*)memory + warp * 16 * STRIDE;
  const i32 group = lane / 4, in_group = lane % 4;
  auto place = [](i32 line, i32 column) {
    const i32 exchanged = (line * PARTS + column / 8) / 4 % 2;
    return line * STRIDE + (column ^ exchanged * 4);
  };
#pragma unroll 1
  for (i32 slab = 0; slab < SLABS; ++slab) {
    __syncwarp();
    // Accumulators are registers: their indices must be constants.
#pragma unroll
    for (i32 i = 0; i < FRAGMENTS_M; ++i)
#pragma unroll
      for (i32 j = 0; j < FRAGMENTS_N; ++j)
#pragma unroll
        for (i32 half = 0; half < 2; ++half) {
          if ((SWAPPED ? j / 2 : i) != slab) continue;
          const Acc v0 = acc[i][j][half * 2], v1 = acc[i][j][half * 2 + 1];
          if (SWAPPED) {
            const i32 line = j % 2 * 8 + in_group * 2, column = i * 16 + half * 8 + group;
            staged[place(line, column)] = v0;
            staged[place(line + 1, column)] = v1;
          } else {
            *(Pair*)(staged + place(half * 8 + group, j * 8 + in_group * 2)) = {v0, v1};
          }
        }
    __syncwarp();
#pragma unroll 1
    for (i32 n = lane; n < 16 * LINE / SEGMENT; n += 32 * AT_ONCE) {
      Acc segments[AT_ONCE][SEGMENT];
#pragma unroll
      for (i32 s = 0; s < AT_ONCE; ++s) {
        const i32 line = (n + s * 32) / (LINE / SEGMENT), column = (n + s * 32) % (LINE / SEGMENT) * SEGMENT;
#pragma unroll
        for (i32 i = 0; i < SEGMENT; i += WIDTH) {
          const Few few = *(const Few*)(staged + place(line, column + i));
#pragma unroll
          for (i32 w = 0; w < WIDTH; ++w) segments[s][i + w] = few.v[w];
        }
      }
#pragma unroll
      for (i32 s = 0; s < AT_ONCE; ++s) {
        const i32 line = (n + s * 32) / (LINE / SEGMENT), column = (n + s * 32) % (LINE / SEGMENT) * SEGMENT;
        store(slab * 16 + line, column, segments[s]);
      }
    }
  }
}
