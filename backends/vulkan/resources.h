// Binds the resources of a compute module that was written for another program.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/backend.h"

namespace tcc::backends {

// Returns the module with numbers for its specialization and push constants, and with the storage
// buffers of descriptor set 0 at the addresses that the push constants hold, one of 8 bytes for
// each of `arguments`: as kernels of this project get theirs (docs/devices.md). Buffers are
// aligned to 16 bytes. Compilers drop resources that are not used: `resources` may have more than
// the module. Throws Error(bad_input) for those that it lacks, and for those of other kinds.
std::vector<uint8_t> bind_resources(std::span<const uint8_t> code, const KernelResources& resources,
                                    int arguments);

}  // namespace tcc::backends
