// Converts SPIR-V modules from bytes, as kernels keep them, to words, as drivers and tools take
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tcc::exec {

inline constexpr size_t kSpirvHeaderWords = 5;

// Returns the words of a module. Throws Error(device) when it is not one: wrong size or magic
// number.
std::vector<uint32_t> spirv_words(std::span<const uint8_t> code);
std::vector<uint8_t> spirv_bytes(std::span<const uint32_t> words);

}  // namespace tcc::exec
