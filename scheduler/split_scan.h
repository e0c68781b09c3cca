#pragma once

#include "ir/passes/graph_rewrite.h"

namespace tcc::sched {

// A scan in parts of its lines, which need not divide them: each part is scanned on its own, and
// the scanned totals of the parts are added to (or multiplied with) the elements of those that come
// after.
ir::Replacement split_scan(ir::Builder& builder, const ir::Node& node, int64_t parts);

}  // namespace tcc::sched
