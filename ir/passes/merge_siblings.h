#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace tcc::ir {

struct MergeSiblingsOptions {
  // The most output columns that a merged layer may have; larger groups stay apart.
  int64_t max_columns = INT64_MAX;
};

// Merges layers that read the same x, such as the query, key and value projections: two or more
// `linear` (or `matmul` by a matrix) whose weights are immutable rank-2 constants of one dtype and
// input size, all with or all without an immutable bias, become one with concatenated weights, and
// slices of its result. A `matmul` by a constant that is transposed first, as exporters write it,
// is a `linear`. An `add` of an immutable row that alone reads a product counts as its
// bias, and is merged, too; zeros stand for the bias of a product that has none. The concatenations
// are `cat` nodes on constants: run fold_constants after it. Every output element is computed as
// before.
void merge_siblings(Graph& graph, const MergeSiblingsOptions& options = {});

}  // namespace tcc::ir
