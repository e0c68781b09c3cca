// Long rows are sorted in several steps: runs that fit a workgroup, then merges of pairs of sorted
// runs. Where few elements are kept, every step sorts what the runs before have left.
#pragma once

#include "ir/graph.h"
#include "scheduler/target.h"

namespace tcc::sched {

void split_sorts(ir::Graph& graph, const Target& target);

}  // namespace tcc::sched
