// Ops whose results are as many as a run counts share these functions (ir/counted_dims.h).
#pragma once

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// The attribute `size` of an op that counts.
AttrDef counted_size_attr();

// The places of the true elements of `flags` (bool [n]) in ascending order, i64 [size]: `size` is a
// counted dim, which gets their number.
Value* places_of(Builder& b, Value* flags, const SymInt& size);

// The attribute `size` of a node that counts.
SymInt size_of(const Node& node);

}  // namespace tcc::ir::ops
