// Few long scans would leave most of the device idle: they are cut into parts. Each part is scanned
// on its own, and what the parts before it sum up to joins every element.
#pragma once

#include "ir/graph.h"
#include "scheduler/target.h"

namespace tcc::sched {

void split_scans(ir::Graph& graph, const Target& target);

}  // namespace tcc::sched
