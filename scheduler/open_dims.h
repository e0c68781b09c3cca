// Dims whose sizes come at run time (CompileOptions::open_dims): which nodes can have them.
#pragma once

#include "ir/graph.h"
#include "ir/size_range.h"
#include "scheduler/region.h"

namespace tcc::sched {

// Throws Error(bad_input), which names the op, the dim and what to do, for a node with an open dim
// that no kernel template takes by itself. `dims` are those that the graph was bound with;
// `written` is the graph before the passes, whose ops are called as the user called them.
void check_open_dims(const ir::Graph& graph, const ir::Graph& written, const Target& target,
                     const RegionPrecision& precision, const ir::SizeRanges& dims);

}  // namespace tcc::sched
