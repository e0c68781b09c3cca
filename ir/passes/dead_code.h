#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Drops the nodes that no output depends on, and the constants that no node or output uses. Graph
// inputs stay, used or not: they are part of the interface.
void eliminate_dead_code(Graph& graph);

}  // namespace tcc::ir
