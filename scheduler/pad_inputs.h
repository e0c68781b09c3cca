#pragma once

#include <set>

#include "scheduler/region.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Copies of graph inputs (and of mutable weights) for matrix products whose asynchronous loads need
// longer rows than these have: an `identity` that stays a kernel of its own, whose result gets such
// a layout (layout.h). Products of one input share its copy. Which operands of a product are copied
// is a site of the plan ("pad_inputs": a sum of 1 and 2, for its first and second operand; 0:
// none); by default the candidates' cost models decide, with the copies' own time. Does nothing on
// targets without matrix units.
//
// It must run after all simplification, which would remove the copies. The nodes in `kept` stay as
// they are.
void pad_inputs(ir::Graph& graph, const Target& target, const Plan& plan = {},
                const RegionPrecision& precision = {}, const std::set<const ir::Node*>& kept = {});

}  // namespace tcc::sched
