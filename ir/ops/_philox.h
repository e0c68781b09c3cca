// The random numbers of the reference: Philox 4x32-10 (J. K. Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011), laid out as backends/device/common/random.inc does it.
//
// The key is the seed; the counter of element i is (offset, i / 4), 64 bits each, low words first;
// element i takes word i % 4. A normal number takes a pair of words (a, b), the first or second
// pair by bit 1 of i: its radius is sqrt(-2 ln u) with u = (a + 1/2) 2^-32 in f32, its angle 2 pi b
// 2^-32, and it is the cosine for even i, the sine for odd.
#pragma once

#include <array>
#include <cstdint>

#include "ir/op.h"

namespace tcc::ir::ops {

// Ten rounds on a counter, under a key of 64 bits.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_low, uint64_t counter_high);

// A random node's attributes `seed` and `offset` decide which numbers it draws, and its operand
// `state`, which is added to them.
struct RandomStream {
  uint64_t seed, offset;
};
RandomStream stream_of(const EvalContext& context);

// Element i: uniform in [0, 1), with 24 bits; or standard normal.
double random_uniform(const RandomStream& stream, int64_t i);
double random_normal(const RandomStream& stream, int64_t i);

}  // namespace tcc::ir::ops
