// Kernel text to device code: the one place that knows which compiler serves which API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/compile/kernel_cache.h"
#include "scheduler/target.h"

namespace tcc::backends {

// Where a kernel's text comes from. Floats of the first two are computed as written
// (docs/decisions/016-float-semantics.md), those of the third by the rules of its language.
enum class TextOrigin {
  generated,      // printed from kernel IR
  device_source,  // a file of backends/device, with generated hooks: unrolled as far as it pays
  user,           // a user's own kernel
};

// Cubin for cuda, SPIR-V for vulkan, nothing for the null device. Takes it from `cache` when it is
// there (may be null). `validate` checks SPIR-V modules. Throws Error(device) with the compiler's
// first lines.
std::vector<uint8_t> compile_source(const std::string& source, const std::string& name,
                                    const sched::Target& target, KernelCache* cache, bool validate,
                                    TextOrigin origin = TextOrigin::generated);

// "" when kernels for this API can be compiled here, else why not.
std::string compiler_missing(sched::Api api);

}  // namespace tcc::backends
