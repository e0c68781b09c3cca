// Alternatives that candidates propose for single nodes (scheduler/alternative.h), compared by
// cost: sums, rows and lines in parts, rows in sorted runs, operands in copies.
#pragma once

#include <functional>
#include <set>

#include "scheduler/alternative.h"
#include "scheduler/region.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Rewrites the nodes for which another graph is clearly faster, and those that no kernel computes
// as they are. Each node is a site of the plan, whose default is what the cost models say of the
// node with its neighbours as kernels. The nodes that `kept` gives stay as they are; it is called
// once, and only where there are alternatives. Returns whether anything was rewritten.
using KeptNodes = std::function<std::set<const ir::Node*>()>;
bool take_alternatives(ir::Graph& graph, AlternativeStage stage, const Target& target,
                       const Plan& plan = {}, const RegionPrecision& precision = {},
                       const KeptNodes& kept = {});

}  // namespace tcc::sched
