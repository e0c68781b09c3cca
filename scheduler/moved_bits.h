// Floats narrower than f32 that are only copied are moved as bits.
#pragma once

#include "scheduler/kernel.h"

namespace tcc::sched {

// Elements that a kernel loads as a float narrower than f32, moves (through arrays or selections)
// and stores as the same type become the unsigned integers of their bits: nothing is converted, and
// NaN keeps its payload. Arrays and variables that are computed with as well stay as they are. A
// store of an integer to such a buffer, and a vector access of an array of integers, moves bits.
void move_bits(Kernel& kernel);

}  // namespace tcc::sched
