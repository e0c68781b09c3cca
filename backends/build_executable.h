// The second half of the pipeline: regions become kernels, kernels become code, buffers get their
// places.
#pragma once

#include <string>
#include <vector>

#include "backends/pipeline.h"

namespace tcc::backends {

// Lowers and compiles every distinct region once, on all cores, and plans the memory.
sched::Executable build_executable(const Scheduled& scheduled, const sched::Target& target,
                                   const CompileOptions& options);

// Regions as text, for dumps.
std::string regions_text(const std::vector<sched::Region>& regions);

}  // namespace tcc::backends
