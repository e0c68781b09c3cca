// What a SPIR-V module says that it needs and offers, for checks before a driver gets it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "executable/target.h"

namespace tcc::exec {

struct SpirvFacts {
  std::set<std::string, std::less<>> entries;  // entry points of compute shaders
  std::set<uint32_t> capabilities;             // SPIR-V's numbers
  FloatControls float_controls;                // by its execution modes, of all entry points
};

// Of spirv_words(). Throws Error(device) where an instruction does not fit in the module.
SpirvFacts spirv_facts(std::span<const uint32_t> words);

// The first feature that the module needs and the target lacks: "64-bit floats"; "" where none.
std::string lacking_feature(const SpirvFacts& facts, const Target& target);

}  // namespace tcc::exec
