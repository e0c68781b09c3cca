#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// A `cat` of slices of a normalised value (`layer_norm`, `rms_norm`), along a dim that is not
// normalised, as of a `roll`, is read before the norm: its rows are normalised in their new order.
// A kernel of rows reads rows from anywhere at no cost, where a product would compute its operand.
// Only where the slices have no more rows than the value, and nothing else reads it.
void rotate_before_norms(Graph& graph);

}  // namespace tcc::ir
