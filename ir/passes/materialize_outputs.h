#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Every output becomes the result of a node of its own: an output that is an input, a constant, or
// another output too goes through `identity`, so that some kernel writes it.
void materialize_outputs(Graph& graph);

}  // namespace tcc::ir
