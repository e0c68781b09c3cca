// Copies of the image that a convolution reads, as the copy engine wants it: channels that are
// neighbours, and pixels at multiples of 16 bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/passes/graph_rewrite.h"

namespace tcc::sched {

// Returns the ways in which the convolution may read its image: 0 as it is; 1 a copy, whose layout
// is free, with its channels last; 2, where channels are few, a copy to rows that are padded so
// that windows of a row are neighbours at such multiples; 3, where windows are patches that do not
// overlap, a copy of them, whose elements are the channels of one pixel; 4, where a copy engine
// brings windows by fewer loads so, rows that are padded as those of 2 and merge several rows of
// the image, pixel by pixel; 5, where threads copy vectors and a pixel is no whole number of
// them, a copy with zero channels behind its own.
std::vector<int64_t> image_copies(const ir::Node& convolution, bool has_copy_engine);

// Makes the convolution on such a copy, an `identity` that stays a kernel of its own. On padded
// rows the elements of a window's row are its channels, and there are no windows along rows.
ir::Replacement copy_image(ir::Builder& builder, const ir::Node& convolution, int64_t choice);

// The bytes of the pieces in which loads of kind im2col bring as many bytes under each of `taps`
// taps: as long as waste at most an eighth more than the shortest do. What is no more than a line,
// under the only tap, is one piece.
int64_t piece_bytes(int64_t bytes, int64_t taps);

}  // namespace tcc::sched
