// Kernel text to device code: the one place that knows which compiler serves which API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/compile/kernel_cache.h"
#include "scheduler/target.h"

namespace tcc::backends {

// Cubin for cuda, SPIR-V for vulkan, nothing for the null device. Takes it from `cache` when it is
// there (may be null). `validate` checks SPIR-V modules; `optimize` runs SPIRV-Tools' performance
// passes over them. Throws Error(device) with the compiler's first lines.
std::vector<uint8_t> compile_source(const std::string& source, const std::string& name,
                                    const sched::Target& target, KernelCache* cache, bool validate,
                                    bool optimize = true);

// "" when kernels for this API can be compiled here, else why not.
std::string compiler_missing(sched::Api api);

}  // namespace tcc::backends
