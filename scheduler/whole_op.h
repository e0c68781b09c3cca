// Composite ops that a kernel template takes as they are.
#pragma once

#include "scheduler/region.h"
#include "scheduler/target.h"

namespace tcc::sched {

// Whether a registered template takes the region of this one composite node, with all its results:
// such a node is not decomposed. The template must take it as well where some results are not used.
bool is_taken_whole(const ir::Node& node, const Target& target, const RegionPrecision& precision);

}  // namespace tcc::sched
