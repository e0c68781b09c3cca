// One run of a graph with states as a graph without them.
#pragma once

#include <span>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tcc::ir {

// Returns a graph of the same inputs that computes the outputs of one run, then the states after
// it, in the graph's order and by their names. It serves checks and the reference. `before` has the
// values of all states when the run begins; without it they have their first values. A state that
// grows may be as long as its rows count; it is then as long as its rows after the run. The graph
// must be bound.
Graph single_run(const Graph& bound_graph, std::span<const Tensor> before = {});

}  // namespace tcc::ir
