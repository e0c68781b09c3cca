// Layouts of the buffers between kernels.
#pragma once

#include <set>
#include <vector>

#include "scheduler/candidate.h"

namespace tcc::sched {

// The layout of [N, C, *spatial] as [N, *spatial, C] in memory.
Layout channels_last(const ir::Shape& shape);

// Returns whether the value's layout may change without a copy. This holds for values that kernels
// write for kernels, and for constants that are packed when they are loaded. Graph inputs,
// outputs and states are dense by contract, and mutable weights are other programs' memory, too.
bool has_free_layout(const ir::Graph& graph, const ir::Value* value);

// Chooses the physical layout of every value between regions, and of constants, by the wishes of
// the regions' candidates: first orders of dims, then longer rows. Regions whose layouts change are
// matched again. The values in `free` have free layouts, too.
void assign_layouts(const ir::Graph& graph, std::vector<ScheduledRegion>& regions,
                    const std::set<const ir::Value*>& free = {});

}  // namespace tcc::sched
