// Makes floats in SPIR-V mean the same as in the text. Without decorations, Vulkan lets a driver
// rearrange float arithmetic by rules that hold for real numbers alone: x * 0 may become 0, and (x
// + 2^23) - 2^23 may become x.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/target.h"

namespace tcc::backends {

// Returns the module, of SPIR-V 1.4 or later with one entry point, with NoContraction on every
// result of float arithmetic, and with `controls` as the entry point's execution modes.
// Multiplications and additions stay apart; a fused multiply-add must be written as fma(). Throws
// Error(device) when the module is not one.
std::vector<uint32_t> exact_floats(std::span<const uint32_t> module,
                                   const sched::FloatControls& controls);

}  // namespace tcc::backends
