// Compiles kernel text to device code by the target's back end, or takes it from the cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/compile/kernel_cache.h"

namespace tcc::backends {

// Takes the code from `cache`, which may be null, when it is there. `validate` checks it. Throws
// Error(device) with the compiler's first lines.
std::vector<uint8_t> compile_source(const std::string& source, const std::string& name,
                                    const sched::Target& target, KernelCache* cache, bool validate,
                                    const TextKind& kind = TextOrigin::generated);

}  // namespace tcc::backends
