// How large the numbers are that a kernel's index arithmetic goes through.
#pragma once

#include "scheduler/kernel.h"

namespace tcc::sched {

// Some index, or some part of one (a product before it is divided, say), may leave 32 bits.
bool leaves_32_bits(const Kernel& kernel);

// How far `offset` moves with one step of `axis`: 0 when it does not depend on it, -1 when not by a
// fixed amount.
int64_t coefficient(const SymInt& offset, const SymInt& axis);

}  // namespace tcc::sched
