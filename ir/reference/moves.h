// Graphs that only move elements of constants, evaluated on the elements' bits.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace tcc::ir {

// Returns the first output of a graph of constants and of nodes that permute, regroup and
// concatenate them; nothing where a node does anything else. The interpreter gives the same, by way
// of f64.
std::optional<Tensor> move_elements(const Graph& graph);

}  // namespace tcc::ir
