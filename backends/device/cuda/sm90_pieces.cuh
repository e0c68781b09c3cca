// Operands of a convolution that TMA copies by pieces of k: neighbouring channels under one tap of the filter (Image).
#include "sm90_im2col.cuh"
#include "sm90_operand.cuh"

// Side says besides what operand_at asks for: `image`, `piece_k` (channels of a piece), `tap_pieces` (pieces under a tap),
// `pieces` (of a tile), `last_tile` (of k) and `last_pieces` (that tile's).
template <class Side> struct Pieces : Sm90Operand<Load::im2col> {
  static constexpr i32 piece = Side::image.piece, copied_bytes = Side::rows * piece * Side::pieces;
  static constexpr i32 last_k = Side::last_tile * Side::pieces * Side::piece_k;
  static constexpr bool shared = Side::share > 1;
  static constexpr i32 slice_rows = Side::rows / Side::share;
  __device__ __forceinline__ static constexpr i32 bytes_at(i32 k) {
    return k == last_k ? Side::rows * piece * Side::last_pieces : copied_bytes;
  }
  // Calls visit(n, tap, channel) for the pieces of the tile that begins at k.
  template <class Visit> __device__ __forceinline__ static void each(i32 k, const Visit& visit) {
    const i32 first = k / Side::piece_k;
#pragma unroll
    for (i32 n = 0; n < Side::pieces; ++n) {
      if (n >= Side::last_pieces && k == last_k) break;
      const i32 number = first + n;
      visit(n, number / Side::tap_pieces, number % Side::tap_pieces * Side::piece_k);
    }
  }
};

// The image: pixels under a tap. A batch is a group of channels: hook(number, c) says in c[0] where they begin.
template <class Side> struct ImageOperand : Pieces<Side> {
  using Base = Pieces<Side>;
  static constexpr Image image = Side::image;
  static constexpr i32 SPATIAL = image.spatial;
  const TensorMap& map;
  i32 to;  // of this workgroup's slice, in rows
  u16 mask;
  i32 channel, number;  // the first channel, and the image of the first pixel
  i32 pixel[SPATIAL];

  template <class BatchHook>
  __device__ __forceinline__ ImageOperand(const TensorMap& map, i32 slice, u16 mask, i32 batch, i32 at, BatchHook hook)
      : map(map), to(slice * Base::slice_rows), mask(mask), channel(0) {
    if constexpr (Side::batched) {
      i32 c[3];
      hook(batch, c);
      channel = c[0];
    }
    i32 rest = at + to;
    pixel[0] = place(rest, image.x);
    if constexpr (SPATIAL > 1) pixel[1] = place(rest, image.y);
    if constexpr (SPATIAL > 2) pixel[2] = place(rest, image.z);
    number = rest;
  }
  // Takes this dim's place from a number of pixels.
  __device__ __forceinline__ static i32 place(i32& rest, ImageDim dim) {
    const i32 at = rest % dim.outputs;
    rest /= dim.outputs;
    return at * dim.step - dim.padding;
  }
  __device__ __forceinline__ static u16 offset(i32 tap, ImageDim dim) {
    return u16(tap / dim.along % dim.taps * dim.dilation);
  }

  __device__ __forceinline__ void copy(u32 tile, u32 full, i32 k) const {
    static_assert(Base::slice_rows % 8 == 0, "swizzled rows come in eights");
    Base::each(k, [&](i32 n, i32 tap, i32 first) {
      u16 offsets[SPATIAL];
      offsets[0] = offset(tap, image.x);
      if constexpr (SPATIAL > 1) offsets[1] = offset(tap, image.y);
      if constexpr (SPATIAL > 2) offsets[2] = offset(tap, image.z);
      tma_load_im2col<SPATIAL, Base::shared>(tile + (n * Side::block + to) * Base::piece, map, full, mask, channel + first,
                                             pixel, number, offsets);
    });
  }
};

// The operand beside an image whose taps end inside of pieces. The map's dimensions are (channel, row, tap, batch...) if
// major_k, else (row, channel, tap, batch...).
template <class Side> struct PiecesOperand : Pieces<Side> {
  using Base = Pieces<Side>;
  const TensorMap& map;
  i32 slice, at;
  u16 mask;
  i32 batch[3];

  template <class BatchHook>
  __device__ __forceinline__ PiecesOperand(const TensorMap& map, i32 slice, u16 mask, i32 number, i32 at, BatchHook hook)
      : map(map), slice(slice), at(at), mask(mask), batch{0, 0, 0} {
    if constexpr (Side::operand.rank > 3) hook(number, batch);
  }

  __device__ __forceinline__ void copy(u32 tile, u32 full, i32 k) const {
    constexpr i32 RANK = Side::operand.rank;
    Base::each(k, [&](i32 n, i32 tap, i32 channel) {
      const i32 z[3] = {tap, batch[0], batch[1]};
      if constexpr (Side::operand.major_k) {
        const i32 row = slice * Base::slice_rows;
        tma_load<RANK, Base::shared>(tile + (n * Side::block + row) * Base::piece, map, full, mask, channel, at + row, z);
      } else {
        static_assert(!Base::shared, "a piece has too few lines for slices");
#pragma unroll
        for (i32 box = 0; box < Side::rows / 64; ++box)
          tma_load<RANK, false>(tile + box * 8192 + n * (Side::piece_k * 128), map, full, mask, at + box * 64, channel, z);
      }
    });
  }
};
