// Checks and optimises SPIR-V modules (Vulkan 1.2) with SPIRV-Tools in this process, or with the
// `spirv-val` that the environment variable TCC_SPIRV_VAL names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "executable/spirv_words.h"

namespace tcc::backends {

// Returns "" when the module is valid, else the validator's first message. Throws Error(device)
// when there is no validator.
std::string validate_spirv(std::span<const uint8_t> code);

// Returns the module after SPIRV-Tools' performance passes. Throws Error(device) when a pass fails
// or there is no optimiser.
std::vector<uint8_t> optimize_spirv(std::span<const uint8_t> code);

using exec::spirv_bytes;
using exec::spirv_words;

// Counts the instructions of the module's functions, with labels and parameters. Throws
// Error(device) where it is cut off.
int64_t spirv_instructions(std::span<const uint8_t> code);

}  // namespace tcc::backends
