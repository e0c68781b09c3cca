#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Common subexpression elimination: of the nodes with the same op, attributes and operands only the
// first stays, and takes the uses of all. Constants are merged first, when they share their data or
// are splats of one type with the same bits (so 0.0 and -0.0 stay apart); mutable weights never
// are. Random ops with one seed and offset draw the same numbers, so they merge like any other.
void eliminate_common_subexpressions(Graph& graph);

}  // namespace tcc::ir
