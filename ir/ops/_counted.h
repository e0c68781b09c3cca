// Ops whose results are as many as a run counts share these functions (ir/counted_dims.h).
#pragma once

#include <optional>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// The attribute `size` of an op that counts.
AttrDef counted_size_attr();

// The places of the true elements of `flags` (bool [n]) in ascending order, i64 [size]: `size` is a
// counted dim, which gets their number, of which it is known that it is at most `most` (default:
// n).
Value* places_of(Builder& b, Value* flags, const SymInt& size,
                 const std::optional<SymInt>& most = std::nullopt);

// The attribute `size` of a node that counts.
SymInt size_of(const Node& node);

// The attribute `dim` of an op that takes x as flattened where it has none.
AttrDef optional_dim_attr();
std::optional<int> optional_dim(const InferContext& context, int rank);
std::optional<int> optional_dim(const Node& node, int rank);

// x's slices along `dim` at `places` (i64 [size]), none where the dim is empty.
Value* select_places(Builder& b, Value* x, int dim, Value* places);

}  // namespace tcc::ir::ops
