// Rewriting passes rebuild a graph node by node with these functions.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ir/builder.h"
#include "ir/graph.h"

namespace tcc::ir {

// These values replace a node's results: one value per result, or none to keep the node.
using Replacement = std::vector<Value*>;

// Visits the nodes in order, their operands already rewritten; the nodes that `replace` makes
// through the builder take the place of the node. A replacing value that is new takes the old one's
// name, so that dumps stay readable. Types must not change. Nodes that become dead are removed.
// Returns whether anything was replaced.
bool rewrite_nodes(Graph& graph, const std::function<Replacement(Builder&, const Node&)>& replace);

// An immutable constant, whose data may be repacked.
inline bool is_fixed(const Value* value) { return value->is_constant() && !value->is_mutable; }

}  // namespace tcc::ir
