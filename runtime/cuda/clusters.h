// How many clusters of workgroups a device runs at once.
#pragma once

#include <array>

#include "executable/target.h"
#include "runtime/cuda/context.h"

namespace tcc::runtime::cuda {

// Target::clusters: what the driver answers for an empty kernel that takes all of a unit's shared
// memory. Zeros where the driver cannot say, or cannot translate that kernel.
std::array<int, 3> count_clusters(const Context& context, const exec::Target& target);

}  // namespace tcc::runtime::cuda
