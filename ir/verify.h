// The invariants of a graph that every pass may rely on and must keep.
#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Throws InternalError that names the node and what is wrong with it. Checked are:
// - every pointer leads to a value of this graph; inputs, constants and results have the fields of
//   their kind;
// - operands are inputs, constants or results of earlier nodes, and only optional operands are
//   null;
// - attributes are complete and of the declared types; result types are those that the op infers
//   from the operands;
// - value names are unique and not empty; there is a name for every output; shapes use declared
//   dims only.
void verify(const Graph& graph);

}  // namespace tcc::ir
