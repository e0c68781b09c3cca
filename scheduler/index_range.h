// Finds how large the numbers are that a kernel's index arithmetic computes.
#pragma once

#include "scheduler/kernel.h"

namespace tcc::sched {

// Returns whether some index, or some part of one (such as a product before it is divided), may
// exceed 32 bits.
bool leaves_32_bits(const Kernel& kernel);

// Returns whether the value, and each part of its sum, is known to be below 2^31 whatever the
// sizes. The places that a device source gives its hooks are: it counts in 32 bits.
bool fits_32_bits(const SymInt& value);

// Returns how far `offset` moves with one step of `axis`: 0 when it does not depend on it, -1 when
// the distance is not fixed.
int64_t coefficient(const SymInt& offset, const SymInt& axis);

// Returns the offset without bounds by numbers, which guard places that are not asked for.
SymInt unclamped(const SymInt& offset);

}  // namespace tcc::sched
