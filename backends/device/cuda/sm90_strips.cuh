// Matrices of the result's shape that the epilogue reads, brought ahead of it by TMA: strips of 64 rows and COLUMNS
// columns of the kernel's tile, those that a group stages at once (sm90_epilogue.cuh). Each group has a ring of them.
#include "matrix.cuh"
#include "sm90_pipeline.cuh"

// COUNT elements of shared memory as f32.
template <Element E, i32 COUNT> TCC_FN void load_elements(u32 from, f32 (&v)[COUNT]) {
  if constexpr (E == Element::f32) {
#pragma unroll
    for (i32 i = 0; i < COUNT; i += 4) load_shared<4>(from + i * 4, v + i);
  } else {
    static_assert(bytes_of(E) == 2 && COUNT == 8, "16 bytes at once");
    u32 words[4];
    load_shared<4>(from, words);
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
      v[i * 2] = E == Element::bf16 ? tcc_bits_f32(words[i] << 16) : TCC_F16_TO_F32(words[i] & 0xffffu);
      v[i * 2 + 1] = E == Element::bf16 ? tcc_bits_f32(words[i] & 0xffff0000u) : TCC_F16_TO_F32(words[i] >> 16);
    }
  }
}

// The residuals' maps, and their batches' coordinates in these, with the kernel's buffers filled in.
template <class First, class Second> struct ResidualHooks {
  First first;  // first(number, c)
  Second second;
  const TensorMap *map, *map_2;
};
template <class First, class Second>
ResidualHooks(First, Second, const TensorMap*, const TensorMap*) -> ResidualHooks<First, Second>;
#define RESIDUAL_HOOKS(map, map_2)                                                                                   \
  ResidualHooks {                                                                                                    \
    [&](auto batch, auto& c) { batch_residual(TCC_BUFFERS batch, c); },                                              \
        [&](auto batch, auto& c) { batch_residual_2(TCC_BUFFERS batch, c); }, map, map_2                             \
  }

// The parameter `Of` gives `first` and `second`, the Residuals; `count`, the strips of a ring; `groups`; `columns`;
// `segment`, the elements that a lane reads at once; `swapped`. A strip holds rows of the result: as many elements as it has columns,
// or with swapped as it has rows.
template <class Of> struct ResidualStrips {
  static constexpr i32 elements = 64 * Of::columns;
  static constexpr bool two = Of::second.rank > 0;
  static constexpr i32 first_bytes = elements * bytes_of(Of::first.element);
  static constexpr i32 bytes = first_bytes + (two ? elements * bytes_of(Of::second.element) : 0);
  using Ring = Pipeline<Of::count, bytes>;
  struct Tiles {
    typename Ring::Tiles of_group[Of::groups];
  };
  struct Barriers {
    typename Ring::Barriers of_group[Of::groups];
  };
  // A segment of each residual.
  struct Values {
    f32 first[Of::segment], second[two ? Of::segment : 1];
  };

  Ring ring;
  i32 lane, offset;  // of this warp's first row, in elements

  // By one thread.
  __device__ __forceinline__ static void init(u32 tiles, u32 barriers) {
    for (i32 g = 0; g < Of::groups; ++g) ResidualStrips(tiles, barriers, g, 0, 0).ring.init(1, 4);
  }
  __device__ __forceinline__ ResidualStrips(u32 tiles, u32 barriers, i32 group, i32 warp, i32 lane)
      : ring(tiles + group * sizeof(typename Ring::Tiles), barriers + group * sizeof(typename Ring::Barriers)),
        lane(lane),
        offset(Of::swapped ? warp * 16 : warp * 16 * Of::columns) {}

  // By a whole warp: brings the strip that begins at a row and a column of the kernel's. hooks: RESIDUAL_HOOKS.
  template <class Hooks>
  __device__ __forceinline__ void load(const Hooks& hooks, i32 batch, i32 row, i32 column) {
    ring.wait_until_empty();
    if (elect_lane()) {
      barrier_arrive_expect(ring.full_barrier(), bytes);
      const i32 x = Of::swapped ? row : column, y = Of::swapped ? column : row;
      i32 z[3] = {0, 0, 0};
      if constexpr (Of::first.rank > 2) hooks.first(batch, z);
      tma_load<Of::first.rank, false>(ring.tile(), *hooks.map, ring.full_barrier(), 0, x, y, z);
      if constexpr (two) {
        if constexpr (Of::second.rank > 2) hooks.second(batch, z);
        tma_load<Of::second.rank, false>(ring.tile() + first_bytes, *hooks.map_2, ring.full_barrier(), 0, x, y, z);
      }
    }
    ring.advance(1);
  }

  __device__ __forceinline__ void wait() const { ring.wait_until_full(); }
  // The segment at a place of this warp's 16 rows.
  __device__ __forceinline__ void read(i32 row, i32 column, Values& v) const {
    const i32 at = offset + (Of::swapped ? column * 64 + row : row * Of::columns + column);
    load_elements<Of::first.element>(ring.tile() + at * bytes_of(Of::first.element), v.first);
    if constexpr (two)
      load_elements<Of::second.element>(ring.tile() + first_bytes + at * bytes_of(Of::second.element), v.second);
  }
  // Calls store(arguments..., a segment of each residual).
  template <class Store, class... Arguments>
  __device__ __forceinline__ static void pass(const Store& store, const Values& v, const Arguments&... arguments) {
    if constexpr (two)
      store(arguments..., v.first, v.second);
    else
      store(arguments..., v.first);
  }
  // All lanes have read the strip.
  __device__ __forceinline__ void release() {
    if (lane == 0) barrier_arrive(ring.empty + 8 * ring.stage);
    ring.advance(1);
  }
};
