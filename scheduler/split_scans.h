// Few long scans would leave most of the device idle: they are cut into parts. Each part is scanned
// on its own, and the sum of the parts before it is added to every element.
#pragma once

#include "ir/graph.h"
#include "scheduler/target.h"

namespace tcc::sched {

void split_scans(ir::Graph& graph, const Target& target);

}  // namespace tcc::sched
