#pragma once

#include "ir/passes/graph_rewrite.h"

namespace tcc::sched {

// A sort in steps: runs of `longest` elements, then merges of pairs of sorted runs. Where few
// elements are kept, every step sorts what the runs before have left.
ir::Replacement split_sort(ir::Builder& builder, const ir::Node& node, int64_t longest);

}  // namespace tcc::sched
