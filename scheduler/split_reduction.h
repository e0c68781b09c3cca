#pragma once

#include "ir/passes/graph_rewrite.h"

namespace tcc::sched {

// The reduction of `parts` parts of a row, which divide it, then of their results. Sums of the
// parts are not rounded to 16 bits. Deterministic: no atomics.
ir::Replacement split_reduction(ir::Builder& builder, const ir::Node& node, int64_t parts);

}  // namespace tcc::sched
