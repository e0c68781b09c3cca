// Random recurrent layers: cells, directions, sizes, functions, states, lengths, results.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace tcc::test {

// The same one for the same seed.
ir::Graph random_recurrent(uint64_t seed);

}  // namespace tcc::test
