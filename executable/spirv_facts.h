// A SPIR-V module says what it needs and offers: facts for checks before a driver gets it.
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
  int version_minor = 0;                       // of SPIR-V 1.x
  FloatControls float_controls;                // by its execution modes, of all entry points
  int64_t shared_bytes = 0;                    // of the variables that a workgroup shares
};

// Reads the facts of what spirv_words() gives. Throws Error(device) where an instruction does not
// fit in the module.
SpirvFacts spirv_facts(std::span<const uint32_t> words);

// Returns the first feature that the module needs and a device lacks, as in "64-bit floats", or ""
// where there is none. `capabilities` are those that the device was created with; quirk files may
// have switched some of them off.
std::string lacking_feature(const SpirvFacts& facts, const std::set<uint32_t>& capabilities,
                            const Target& target);

// Returns the first feature that the module needs and the target says that it lacks, as in "64-bit
// floats", or "".
std::string lacking_feature(const SpirvFacts& facts, const Target& target);

}  // namespace tcc::exec
