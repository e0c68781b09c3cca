#include "ir/passes/dead_code.h"

namespace tcc::ir {

void eliminate_dead_code(Graph& graph) { graph.remove_dead(); }

}  // namespace tcc::ir
