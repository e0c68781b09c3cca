// Drawing configs from a template's space.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/config.h"

namespace tcc::autotune {

// At most `count` different legal configs: the whole space, in lexicographic order, when it is not
// larger; otherwise a uniform sample in random order. The same seed gives the same configs on every
// machine.
std::vector<sched::Config> sample_configs(const sched::ConfigSpace& space, size_t count,
                                          uint64_t seed);

}  // namespace tcc::autotune
