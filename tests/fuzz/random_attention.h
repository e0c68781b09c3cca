// Random attention: lengths, depths, heads, scores, masks, results.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace tcc::test {

// The same one for the same seed.
ir::Graph random_attention(uint64_t seed);

}  // namespace tcc::test
