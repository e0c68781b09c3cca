// Inputs and outputs of a graph become states: GraphFileOptions::states.
#pragma once

#include <string>

#include "frontend/graph_file.h"
#include "ir/graph.h"

namespace tcc {

// Throws Error(bad_input), which begins with `file`, for a name that is none and for an input whose
// type is not the output's. Names are unique afterwards only where Graph::make_names_unique() is
// called.
void make_states(ir::Graph& graph, const StatePairs& pairs, const std::string& file);

}  // namespace tcc
