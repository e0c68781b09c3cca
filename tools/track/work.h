// The work of a case is a hash of its computation, which does not depend on the kernels or on the
// names of values. Histories begin a new level where it changes.
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
// Types and shapes of the arguments, and the dims. The source is not part of the hash, since
// changes of it are tracked.
std::string work_of(const autotune::BoundKernel& kernel);

// Returns whether two works are known to differ: "" is an unknown one, and hashes of different
// schemes (the number in front) cannot be compared.
bool works_differ(std::string_view one, std::string_view other);

}  // namespace tcc::tools
