#pragma once

#include <set>

#include "ir/graph.h"
#include "scheduler/plan.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Long reductions of few rows become two: parts that fill the device and whose sums stay short
// enough to be exact to a few ulp, then a reduction of the parts. Deterministic: no atomics. How
// many parts is a site of the plan ("split_reduction", 1: not split), as far as sums stay short
// enough.
// The nodes in `kept` stay as they are.
void split_reductions(ir::Graph& graph, const Target& target, const Plan& plan = {},
                      const std::set<const ir::Node*>& kept = {});

}  // namespace tcc::sched
