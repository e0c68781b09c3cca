#pragma once

#include <functional>

#include "ir/graph.h"

namespace tcc::ir {

// Replaces every composite node by its composition, and the composites in that, until none is left
// but those that `keep` accepts (ops that a kernel template computes as one). The values that
// replace a composite's results take over their names; new nodes have the composite's location.
// Nodes that become dead are removed.
void decompose(Graph& graph, const std::function<bool(const Node&)>& keep = {});

}  // namespace tcc::ir
