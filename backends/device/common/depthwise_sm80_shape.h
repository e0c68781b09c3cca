// The arithmetic of depthwise_sm80: what a config needs and how it divides the images. The template
// and the device source share this file (see matrix.h).
#pragma once

#include "backends/device/common/matrix.h"

namespace tcc::kernels {

// Where elements [outer, channel, y, x] lie in a kernel's argument. Outer counts images; a filter
// has none.
struct ChannelView {
  Int buffer = 0;
  Int offset = 0, outer = 0, channel = 1, y = 0, x = 0;  // in elements

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("buffer", buffer);
    visit("offset", offset);
    visit("outer", outer);
    visit("channel", channel);
    visit("y", y);
    visit("x", x);
  }
};

// The windows along one dim, of stride 1.
struct WindowDim {
  Int in = 1, out = 1, taps = 1, before = 0;

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("in", in);
    visit("out", out);
    visit("taps", taps);
    visit("before", before);
  }
};

// Parameters of the kernel. A tile is rows x columns results of one image; a workgroup has `parts`
// tiles of block_channels channels.
struct DepthwiseSm80 {
  Element element = Element::bf16;
  Int images = 1, channels = 8;
  WindowDim y, x;
  ChannelView image, filter;
  Int vector = 8;  // neighbouring channels of a pixel that one load brings
  Int block_channels = 16, rows = 8, columns = 8, parts = 1, warps = 4;

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("element", element);
    visit("images", images);
    visit("channels", channels);
    visit("y", y);
    visit("x", x);
    visit("image", image);
    visit("filter", filter);
    visit("vector", vector);
    visit("block_channels", block_channels);
    visit("rows", rows);
    visit("columns", columns);
    visit("parts", parts);
    visit("warps", warps);
  }
};

namespace depthwise_sm80 {

constexpr Int kGroup = 8;     // neighbouring channels that a thread brings or stores
constexpr Int kMostTaps = 9;  // along x: eight results and the columns right of them are 16 columns

constexpr Int threads(const DepthwiseSm80& d) { return 32 * d.warps; }
// Threads that share out lines of `items`: lines that they have at once, or pieces of one line.
constexpr Int lines_at_once(const DepthwiseSm80& d, Int items) {
  return most(1, threads(d) / items);
}
constexpr Int pieces(const DepthwiseSm80& d, Int items) { return ceil_div(items, threads(d)); }
// The lines that a thread asks for before it waits: about as many each time.
constexpr Int waits(const DepthwiseSm80& d, Int lines, Int items) {
  return ceil_div(ceil_div(lines, lines_at_once(d, items)), 5);
}
constexpr Int lines_in_flight(const DepthwiseSm80& d, Int lines, Int items) {
  return ceil_div(ceil_div(lines, lines_at_once(d, items)), waits(d, lines, items));
}

constexpr Int tiles_y(const DepthwiseSm80& d) { return ceil_div(d.y.out, d.rows); }
constexpr Int tiles_x(const DepthwiseSm80& d) { return ceil_div(d.x.out, d.columns); }
constexpr Int tiles(const DepthwiseSm80& d) { return d.images * tiles_y(d) * tiles_x(d); }
constexpr Int chunks(const DepthwiseSm80& d) { return ceil_div(d.channels, d.block_channels); }
constexpr Int workgroups(const DepthwiseSm80& d) { return ceil_div(tiles(d), d.parts) * chunks(d); }

// ---- products. A product is of 16 columns of a row of pixels and eight results of each of two
// rows; its other dim are eight strips, which are blocks of eight columns of whole tiles.

constexpr Int groups(const DepthwiseSm80& d) { return d.block_channels / kGroup; }
constexpr Int blocks(const DepthwiseSm80& d) { return d.columns / 8; }
// Tiles whose strips are multiplied together, and such turns of a channel.
constexpr Int together(const DepthwiseSm80& d) { return least(d.parts, 8 / blocks(d)); }
constexpr Int turns(const DepthwiseSm80& d) { return ceil_div(d.parts, together(d)); }
constexpr Int jobs(const DepthwiseSm80& d) { return d.block_channels * turns(d); }
// Pairs of rows of results under whose windows a row of pixels is.
constexpr Int live(const DepthwiseSm80& d) { return d.y.taps / 2 + 1; }
// A warp walks down the rows of pixels in pairs.
constexpr Int steps(const DepthwiseSm80& d) { return d.rows / 2 + live(d) - 1; }

// ---- shared memory. Pixels of a channel's tile lie in rows of 16-bit elements; its sums, in f32,
// take their place from the top as they are done.

constexpr Int line_bytes(const DepthwiseSm80& d) { return 16 * (blocks(d) + 1); }
constexpr Int sums_line(const DepthwiseSm80& d) { return 32 * blocks(d); }
constexpr Int lines_bytes(const DepthwiseSm80& d) { return 2 * steps(d) * line_bytes(d); }
// Pixels begin so many bytes behind the sums: no sum is stored over a row that is still to be read.
// Sums of a pair of rows are stored when the pair of pixel rows under their last taps is read; what
// holds for the first and the last one holds between them.
constexpr Int lines_at(const DepthwiseSm80& d) {
  const Int first = 2 * sums_line(d) - 2 * live(d) * line_bytes(d),
            last = d.rows * sums_line(d) - lines_bytes(d);
  return most(0, most(first, last));
}
// Neighbouring strips lie in different banks, also those of neighbouring tiles.
constexpr Int tile_bytes(const DepthwiseSm80& d) {
  const Int bytes = lines_at(d) + lines_bytes(d), aim = 16 * blocks(d) % 128;
  return d.parts == 1 ? bytes : bytes + (aim + 128 - bytes % 128) % 128;
}
constexpr Int channel_bytes(const DepthwiseSm80& d) { return d.parts * tile_bytes(d); }
// Neighbouring lanes have neighbouring groups.
constexpr Int group_bytes(const DepthwiseSm80& d) {
  return kGroup * channel_bytes(d) + most(16, 128 / groups(d) / 16 * 16);
}
// Taps of a row as pairs of neighbours: of nothing and the first, ..., of the last and nothing, of
// nothing at all.
constexpr Int tap_pairs(const DepthwiseSm80& d) { return d.x.taps + 2; }
constexpr Int filter_at(const DepthwiseSm80& d) { return groups(d) * group_bytes(d); }
constexpr Int shared_bytes(const DepthwiseSm80& d) {
  return filter_at(d) + d.block_channels * d.y.taps * tap_pairs(d) * 4;
}

// A thread holds the matrices of a channel's filter, sums, pixels and addresses.
constexpr Int registers(const DepthwiseSm80& d) { return most(64, 24 + 12 * live(d)); }

}  // namespace depthwise_sm80
}  // namespace tcc::kernels
