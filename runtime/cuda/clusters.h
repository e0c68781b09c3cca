// How many clusters of workgroups a device runs at once.
#pragma once

#include <array>

#include "runtime/cuda/context.h"
#include "scheduler/target.h"

namespace tcc::runtime::cuda {

// Target::clusters: what the driver answers for an empty kernel that takes all of a unit's shared
// memory. Zeros where the driver cannot say, or cannot translate that kernel.
std::array<int, 3> count_clusters(const Context& context, const sched::Target& target);

}  // namespace tcc::runtime::cuda
