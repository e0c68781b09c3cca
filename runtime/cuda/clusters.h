// Finds how many clusters of workgroups a device runs at once.
#pragma once

#include <array>

#include "executable/target.h"
#include "runtime/cuda/context.h"

namespace tcc::runtime::cuda {

// Returns Target::clusters: the driver's answers for an empty kernel that takes all of an SM's
// shared memory. They are zeros where the driver cannot say, or cannot translate that kernel.
std::array<int, 3> count_clusters(const Context& context, const exec::Target& target);

}  // namespace tcc::runtime::cuda
