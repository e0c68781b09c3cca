// Several runs of a graph with states as one graph without them.
#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Returns a graph of the same inputs that computes what `runs` (at least 1) runs in a row on them
// do, beginning with the states' first values: the outputs of the last run, then the states after
// it, in the graph's order and by their names. It serves checks. The graph must be bound.
Graph unroll_runs(const Graph& bound_graph, int runs);

}  // namespace tcc::ir
