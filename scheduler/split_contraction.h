#pragma once

#include "ir/passes/graph_rewrite.h"

namespace tcc::sched {

// The contraction of a matmul or convolution, as sizes: what is summed, and the result.
struct ContractionExtents {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t divisible = 1;  // the part of k that can be cut: a convolution's channels
};
// Tiles of `rows` by `columns` that cover the results.
int64_t tiles_of(const ContractionExtents& product, int64_t rows, int64_t columns);
// The node's dims must be numbers.
ContractionExtents contraction_extents(const ir::Node& node);

// Split-K: a batch of `parts` partial products, each of a part of k, of whose sums none is rounded
// (they are f32, or f64), then the sum of the batch. A convolution's channels are cut: each part is
// a group of a convolution. `parts` divides ContractionExtents::divisible. Deterministic: no
// atomics.
ir::Replacement split_contraction(ir::Builder& builder, const ir::Node& node, int64_t parts);

}  // namespace tcc::sched
