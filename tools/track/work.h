// The work of a case: a hash of what it computes, whatever computes it and whatever its values are
// called. Histories begin a new level where it changes.
#pragma once

#include <string>
#include <string_view>

#include "autotune/user_kernel/bound_kernel.h"
#include "ir/graph.h"

namespace tcc::tools {

// "1:" and 32 digits. Ops, attributes, types, small constants and the precision of products count;
// names, weights' values, the order of independent nodes and nodes without uses do not. The graph
// has numbers for all dims.
std::string work_of(const ir::Graph& graph, std::string_view matmul_precision);
// Types and shapes of the arguments, and the dims. The source is what is tracked: it does not
// count.
std::string work_of(const autotune::BoundKernel& kernel);

// Whether two works are known to differ: "" is an unknown one, and hashes of different schemes (the
// number in front) tell nothing.
bool works_differ(std::string_view one, std::string_view other);

}  // namespace tcc::tools
