// Checks and optimises SPIR-V modules (Vulkan 1.2) with SPIRV-Tools in this process, or with the
// `spirv-val` that the environment variable TCC_SPIRV_VAL names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tcc::backends {

// "" when the module is valid, else the validator's first message. Throws Error(device) when there
// is no validator.
std::string validate_spirv(std::span<const uint8_t> code);

// The module after SPIRV-Tools' performance passes. Throws Error(device) when a pass fails or there
// is no optimiser.
std::vector<uint8_t> optimize_spirv(std::span<const uint8_t> code);

// The words of a module. Throws Error(device) when it is not one: wrong size or magic number.
std::vector<uint32_t> spirv_words(std::span<const uint8_t> code);
std::vector<uint8_t> spirv_bytes(std::span<const uint32_t> words);

}  // namespace tcc::backends
