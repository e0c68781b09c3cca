// How large the numbers are that a kernel's index arithmetic goes through.
#pragma once

#include "scheduler/kernel.h"

namespace tcc::sched {

// Some index, or some part of one (a product before it is divided, say), may leave 32 bits.
bool leaves_32_bits(const Kernel& kernel);

}  // namespace tcc::sched
