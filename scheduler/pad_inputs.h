#pragma once

#include "ir/graph.h"
#include "scheduler/plan.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Copies of graph inputs (and of mutable weights) for matrix products whose asynchronous loads need
// longer rows than these have: an `identity` that stays a kernel of its own, whose result gets such
// a layout (pad_rows.h). Products of one input share its copy. Which operands of a product are
// copied is a site of the plan ("pad_inputs": a sum of 1 and 2, for its first and second operand;
// 0: none); by default what the templates' cost models say, with the copies' own time. Does nothing
// on targets without matrix units. `tf32`: f32 products may be of tf32 operands.
//
// To be run after all simplification, which would remove the copies.
void pad_inputs(ir::Graph& graph, const Target& target, const Plan& plan = {}, bool tf32 = false);

}  // namespace tcc::sched
