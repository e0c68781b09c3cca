// Some of a graph's nodes at other sizes of its dims.
#pragma once

#include <map>
#include <span>
#include <string>

#include "ir/graph.h"
#include "ir/size_range.h"

namespace tcc::ir {

// The dims of states along which rows are appended.
using GrowingDims = std::map<const Value*, int>;
GrowingDims growing_dims(const Graph& graph);

// Expressions for dims that stay open.
using OpenSizes = std::map<std::string, SymInt, std::less<>>;

// A copy of the nodes (Graph::copy_of) with `numbers` for all symbols, but for those in `open`,
// whose numbers are their usual sizes. `growing` is of the whole graph. Throws Error(bad_input)
// where values have no such sizes.
Graph::Part bind_nodes(std::span<const Node* const> nodes, const GrowingDims& growing,
                       const Numbers& numbers, const OpenSizes& open);

}  // namespace tcc::ir
