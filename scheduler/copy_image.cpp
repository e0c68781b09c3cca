#include "scheduler/copy_image.h"

#include <algorithm>
#include <optional>

#include "ir/op.h"
#include "ir/sizes.h"
#include "scheduler/conv_dims.h"
#include "scheduler/made_of_weight.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Builder;
using ir::Node;
using ir::Value;

constexpr int64_t kRowAlignment = 16, kSector = 32;  // bytes

enum Choice : int64_t { kAsItIs, kChannelsLast, kWindows, kPatches, kWindowsOfRows, kWholeVectors };

bool is_spread(const std::vector<ConvDim>& dims) {
  return std::ranges::any_of(dims, [](const ConvDim& dim) { return dim.spread != 1; });
}

// Padded rows, in which windows begin at aligned places. A row has pixels, a pixel the neighbours
// of `channels` channels, each of them `depth` elements: `merged` rows of the image and zeros, or
// one. The next row begins `step` rows of the image further.
struct PaddedRows {
  int64_t channels, pixels;
  int64_t merged = 1, step = 1, depth = 1;
  int64_t pixel() const { return channels * depth; }
};

// As many channels would be neighbours of whole lines without windows.
constexpr int64_t kMostBytes = 32;

bool may_have_rows(const Node& conv, const ConvDim& row) {
  return conv.attr<int64_t>("groups") == 1 && row.dilation == 1 && row.places() >= 1;
}

bool begin_inside_sectors(const ConvDim& row, int64_t pixel_bytes) {
  return row.stride * pixel_bytes % kSector != 0;
}

// The pixels that windows read, and those that let the next row begin at an aligned place: that of
// a sector where windows do.
int64_t pixels_of_row(const ConvDim& row, int64_t pixel_bytes) {
  const int64_t alignment = begin_inside_sectors(row, pixel_bytes) ? kRowAlignment : kSector;
  int64_t pixels = (row.places() - 1) * row.stride + row.kernel;
  while (pixels * pixel_bytes % alignment != 0) ++pixels;
  return pixels;
}

std::optional<PaddedRows> padded_rows(const Node& conv, const ConvDim& row) {
  const int64_t size = size_bytes(conv.inputs[0]->dtype()),
                channels = conv.inputs[0]->shape()[1].value();
  if (!may_have_rows(conv, row)) return std::nullopt;
  int64_t padded = channels;
  while (padded * row.stride * size % kRowAlignment != 0) ++padded;
  if (padded * size > kMostBytes) return std::nullopt;
  return PaddedRows{padded, pixels_of_row(row, padded * size)};
}

// Loads of the copy engine for a pixel of the result.
int64_t loads_of(const PaddedRows& rows, const ConvDim& column, const ConvDim& row, int64_t size) {
  const int64_t taps = column.kernel / rows.merged, window = row.kernel * rows.pixel() * size;
  return taps * ceil_div(window, piece_bytes(window, taps));
}

// The cost of windows of such rows for each pixel of the result, in bytes that memory moves in that
// time. A load takes as long as kLoad of them, whatever part of a line it brings, and more where it
// begins inside of a sector. The copy is written and read.
int64_t cost_of_rows(const PaddedRows& rows, const ConvDim& column, const ConvDim& row,
                     int64_t size) {
  constexpr int64_t kLoad = 96, kInside = 16;
  const int64_t pixel = rows.pixel() * size, loads = loads_of(rows, column, row, size);
  return loads * (kLoad + (begin_inside_sectors(row, pixel) ? kInside : 0)) +
         2 * row.stride * ceil_div(column.stride * pixel, rows.step);
}

// Rows that merge rows of the image, where that costs less than single ones. No element beyond a
// window meets its weights, not even zeros: it may be infinite. So a window's rows are whole merged
// ones: either each row of the image is in one merged row, as many as windows are apart, or a
// merged row has all rows of a window.
std::optional<PaddedRows> merged_rows(const Node& conv, const std::vector<ConvDim>& dims) {
  const ConvDim& row = dims.back();
  const std::optional<PaddedRows> single = padded_rows(conv, row);
  if (!single || dims.size() < 2) return std::nullopt;
  const ConvDim& column = dims[dims.size() - 2];
  if (column.dilation != 1 || column.stride < 2 || column.kernel < 2 || column.places() < 1)
    return std::nullopt;
  const int64_t size = size_bytes(conv.inputs[0]->dtype()),
                channels = conv.inputs[0]->shape()[1].value();
  std::optional<PaddedRows> best;
  int64_t least = cost_of_rows(*single, column, row, size);
  const auto consider = [&](int64_t merged, int64_t step) {
    for (int64_t padded = channels; padded * size <= kMostBytes && padded < 2 * channels + 2;
         ++padded)
      for (int64_t depth = merged; depth <= 2 * merged; ++depth) {
        PaddedRows rows = {padded, 0, merged, step, depth};
        if (rows.pixel() * row.stride * size % kRowAlignment != 0) continue;
        // On an H200, windows of 3 x 3 in one load took longer than in three.
        if (loads_of(rows, column, row, size) < 2) continue;
        const int64_t cost = cost_of_rows(rows, column, row, size);
        if (cost >= least) continue;
        rows.pixels = pixels_of_row(row, rows.pixel() * size);
        least = cost;
        best = rows;
      }
  };
  for (int64_t merged = 2; merged <= column.stride; ++merged)
    if (column.stride % merged == 0 && column.kernel % merged == 0) consider(merged, merged);
  consider(column.kernel, column.stride);
  return best;
}

// The dims of `rank` with `from` last, in order otherwise; and back.
std::vector<int64_t> moved_last(int64_t rank, int64_t from) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    if (d != from) order.push_back(d);
  order.push_back(from);
  return order;
}
std::vector<int64_t> moved_from_last(int64_t rank, int64_t to) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d + 1 < rank; ++d) order.push_back(d);
  order.insert(order.begin() + to, rank - 1);
  return order;
}

Value* pad(Builder& b, Value* x, const std::vector<int64_t>& from_last) {
  return b.op("pad", {x}, {{"pad", ir::ints(from_last)}});
}

// `x` [N, C, ..., W] as [N, windows of padded rows, ..., places].
Value* image_windows(Builder& b, Value* x, const std::vector<ConvDim>& dims,
                     const PaddedRows& rows) {
  const int64_t rank = x->rank(), channels = x->shape()[1].value();
  const ConvDim& row = dims.back();
  x = b.permute(x, moved_last(rank, 1));
  std::vector<int64_t> padding = {0, rows.channels - channels, row.before,
                                  rows.pixels - row.image - row.before};
  if (rows.merged > 1) {
    const ConvDim& column = dims[dims.size() - 2];
    const int64_t read = (column.places() - 1) * column.stride + column.kernel;
    padding.insert(padding.end(), {column.before, read - column.image - column.before});
  }
  x = pad(b, x, padding);
  if (rows.merged > 1) {
    x = b.op("windows", {x}, {{"dim", rank - 3}, {"size", rows.merged}, {"step", rows.step}});
    x = pad(b, x, {0, rows.depth - rows.merged});
  }
  ir::Shape shape(x->shape().begin(), x->shape().begin() + rank - 2);
  shape.emplace_back(rows.pixels * rows.pixel());
  x = b.op("identity", {b.reshape(x, shape)});
  x = b.op("windows", {x},
           {{"dim", int64_t{-1}},
            {"size", row.kernel * rows.pixel()},
            {"step", row.stride * rows.pixel()}});
  x = b.slice(x, rank - 2, 0, row.places());
  return b.permute(x, moved_from_last(rank, 1));
}

// `w` [O, C, ..., taps] as [O, windows, ..., 1].
Value* weight_in_windows(Builder& b, Value* w, const PaddedRows& rows) {
  const int64_t rank = w->rank(), channels = w->shape()[1].value(),
                taps = w->shape().back().value();
  w = pad(b, b.permute(w, moved_last(rank, 1)), {0, rows.channels - channels});
  ir::Shape shape(w->shape().begin(), w->shape().end() - 2);
  if (rows.merged > 1) {
    const ir::SymInt merged_taps = floordiv(shape.back(), rows.merged);
    ir::Shape split = shape;
    split.back() = merged_taps;
    split.insert(split.end(), {rows.merged, taps, rows.channels});
    w = b.permute(b.reshape(w, split), moved_last(rank + 1, rank - 2));
    w = pad(b, w, {0, rows.depth - rows.merged});
    shape.back() = merged_taps;
  }
  shape.emplace_back(taps * rows.pixel());
  return b.unsqueeze(b.permute(b.reshape(w, shape), moved_from_last(rank - 1, 1)), rank - 1);
}

// Zero channels that make a pixel's whole vectors of 16 bytes, where they are few beside the
// others; they meet zero weights.
std::optional<int64_t> missing_channels(const Node& conv) {
  const Value* image = conv.inputs[0];
  const int64_t channels = image->shape()[1].value(),
                padded = round_up(channels, kRowAlignment / size_bytes(image->dtype()));
  if (padded == channels || 2 * padded > 3 * channels || conv.attr<int64_t>("groups") != 1)
    return std::nullopt;
  return padded - channels;
}

// `x` [N, C, ...] with so many channels of zeros behind its own, channels last.
Value* with_zero_channels(Builder& b, Value* x, int64_t channels) {
  return pad(b, b.permute(x, moved_last(x->rank(), 1)), {0, channels});
}
Value* channels_first(Builder& b, Value* x) { return b.permute(x, moved_from_last(x->rank(), 1)); }

Value* on_whole_vectors(Builder& b, const Node& conv) {
  const std::optional<int64_t> missing = missing_channels(conv);
  TCC_CHECK(missing, "pixels of whole vectors");
  Value* image = b.op("identity", {with_zero_channels(b, conv.inputs[0], *missing)});
  Value* weight =
      made_of_weight(b, conv.inputs[1], "zero_channels", [&](Builder& builder, Value* w) {
        return channels_first(builder, with_zero_channels(builder, w, *missing));
      });
  return b.op("convolution", {channels_first(b, image), weight}, conv.attrs);
}

// Whether windows lie side by side.
bool has_patches(const Node& conv) {
  int64_t taps = 1;
  for (const ConvDim& dim : conv_dims(conv)) {
    if (dim.kernel != dim.stride || dim.before != 0 || dim.after > 0 || dim.dilation != 1 ||
        dim.places() < 1)
      return false;
    taps *= dim.kernel;
  }
  return taps > 1 && conv.attr<int64_t>("groups") == 1;
}

// `x` [N, C, image...] as [N, elements of a patch, places...].
Value* image_patches(Builder& b, Value* x, const std::vector<ConvDim>& dims) {
  const auto spatial = std::ssize(dims);
  ir::Shape split = {x->shape()[0], x->shape()[1]}, joined = {x->shape()[0]};
  std::vector<int64_t> order = {0};
  ir::SymInt elements = x->shape()[1];
  for (int64_t d = 0; d < spatial; ++d) {
    const ConvDim& dim = dims[static_cast<size_t>(d)];
    x = b.slice(x, d + 2, 0, dim.places() * dim.kernel);
    split.emplace_back(dim.places());
    split.emplace_back(dim.kernel);
    joined.emplace_back(dim.places());
    order.push_back(2 * d + 2);
    elements = elements * dim.kernel;
  }
  order.push_back(1);
  for (int64_t d = 0; d < spatial; ++d) order.push_back(2 * d + 3);
  joined.push_back(elements);
  x = b.op("identity", {b.permute(b.reshape(x, split), order)});
  return b.permute(b.reshape(x, joined), moved_from_last(spatial + 2, 1));
}

Value* on_patches(Builder& b, const Node& conv) {
  const std::vector<ConvDim> dims = conv_dims(conv);
  Value* w = conv.inputs[1];
  ir::Shape pixel(w->shape().size(), 1);
  pixel[0] = w->shape()[0];
  pixel[1] = floordiv(ir::product(w->shape()), w->shape()[0]);
  ir::Attrs attrs = conv.attrs;
  attrs["stride"] = ir::ints(std::vector<int64_t>(dims.size(), 1));
  attrs["padding"] = ir::ints(std::vector<int64_t>(2 * dims.size(), 0));
  return b.op("convolution", {image_patches(b, conv.inputs[0], dims), b.reshape(w, pixel)}, attrs);
}

// The convolution again, on a copy of its image.
Value* copied(Builder& b, const Node& conv, int64_t choice) {
  Value *x = conv.inputs[0], *w = conv.inputs[1];
  if (choice == kChannelsLast) return b.op("convolution", {b.op("identity", {x}), w}, conv.attrs);
  if (choice == kPatches) return on_patches(b, conv);
  if (choice == kWholeVectors) return on_whole_vectors(b, conv);
  std::vector<ConvDim> dims = conv_dims(conv);
  const std::optional<PaddedRows> rows =
      choice == kWindowsOfRows ? merged_rows(conv, dims) : padded_rows(conv, dims.back());
  TCC_CHECK(rows, "rows without windows");
  x = image_windows(b, x, dims, *rows);
  w = made_of_weight(b, w, "windows", [&](Builder& builder, Value* weight) {
    return weight_in_windows(builder, weight, *rows);
  });
  dims.back() = {0, 1, 1, 0, 0};
  if (rows->merged > 1) {
    ConvDim& column = dims[dims.size() - 2];
    column = {0, column.kernel / rows->merged, column.stride / rows->step, 0, 0};
  }
  std::vector<int64_t> stride, padding, dilation;
  for (const ConvDim& dim : dims) {
    stride.push_back(dim.stride);
    padding.push_back(dim.before);
    padding.push_back(dim.after);
    dilation.push_back(dim.dilation);
  }
  ir::Attrs attrs = conv.attrs;
  attrs["stride"] = ir::ints(stride);
  attrs["padding"] = ir::ints(padding);
  attrs["dilation"] = ir::ints(dilation);
  attrs["input_dilation"] = ir::ints(std::vector<int64_t>(dims.size(), 1));
  return b.op("convolution", {x, w}, attrs);
}

}  // namespace

std::vector<int64_t> image_copies(const Node& conv, bool has_copy_engine) {
  std::vector<int64_t> choices = {kAsItIs};
  if (!has_conv_dims(conv)) return choices;
  const std::vector<ConvDim> dims = conv_dims(conv);
  if (is_spread(dims)) return choices;
  const Value* image = conv.inputs[0];
  while (image->producer && image->producer->op->kind == ir::OpKind::view)
    image = image->producer->inputs[0];
  const bool is_given = !image->producer && !ir::is_fixed(image);
  if (has_copy_engine && merged_rows(conv, dims))
    choices.push_back(kWindowsOfRows);
  else if (padded_rows(conv, dims.back()))
    choices.push_back(kWindows);
  if (is_given) choices.push_back(kChannelsLast);
  if (has_patches(conv)) choices.push_back(kPatches);
  // A copy engine fills what is behind a pixel's channels with zeros.
  if (!has_copy_engine && missing_channels(conv)) choices.push_back(kWholeVectors);
  return choices;
}

int64_t piece_bytes(int64_t bytes, int64_t taps) {
  constexpr int64_t kShortest = 32, kLine = 128;
  const int64_t least = round_up(bytes, kShortest);
  for (const int64_t piece : {kLine, kLine / 2}) {
    const bool is_whole = taps == 1 && bytes <= piece && least > piece / 2;
    if (is_whole || 8 * round_up(bytes, piece) <= 9 * least) return piece;
  }
  return kShortest;
}

ir::Replacement copy_image(Builder& builder, const Node& conv, int64_t choice) {
  return {copied(builder, conv, choice)};
}

}  // namespace tcc::sched
