// Moves blocks of an image's elements into channels, and back.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// Returns x [..., C, H, W] with every block of `size` by `size` elements as size^2 channels: in the
// order [C, block] or, with `blocks_first`, [block, C].
Value* space_to_channels(Builder& b, Value* x, int64_t size, bool blocks_first);
// Moves channels back into blocks.
Value* channels_to_space(Builder& b, Value* x, int64_t size, bool blocks_first);

// Returns the shape of the result of either, for x of at least `rank` dims. Fails where the dims do
// not divide.
Type space_to_channels_type(const InferContext& context, const char* attribute, size_t rank);
Type channels_to_space_type(const InferContext& context, const char* attribute, size_t rank);

}  // namespace tcc::ir::ops
