// Composite ops that a kernel template takes as they are.
#pragma once

#include <string>
#include <vector>

#include "scheduler/candidate.h"
#include "scheduler/region.h"
#include "scheduler/target.h"

namespace tcc::sched {

// The candidate of a registered template that takes the region of this one composite node, with all
// its results and operands that lie row-major, or why there is none: with one, the node is not
// decomposed at first. A refusal has the reasons of all templates for such ops. The template must
// take it as well where some results are not used.
Match match_whole_op(const ir::Node& node, const Target& target, const RegionPrecision& precision);

// A composite op of a graph that no template takes as it stands there.
struct RefusedOp {
  const ir::Node* node;
  std::string reason;
};
// Asks for each composite node that is left in the graph with the views that stand before it (a
// slice of a product, a transpose), which its region holds and reads as strides (strided_view.h).
std::vector<RefusedOp> refused_whole_ops(const ir::Graph& graph, const Target& target,
                                         const RegionPrecision& precision);

}  // namespace tcc::sched
