// The workgroup that a SPIR-V module was compiled for.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tcc::backends {

// Returns the workgroup size of the module's first compute entry point: the constant that is
// decorated WorkgroupSize, else the entry point's LocalSizeId or LocalSize. Specialisation
// constants have their default values. Throws Error(device) where `code` is no SPIR-V module, an
// instruction does not fit in it, or it has no such size that is constant.
std::array<uint32_t, 3> local_size(std::span<const uint8_t> code);

}  // namespace tcc::backends
