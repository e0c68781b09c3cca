// The second half of the pipeline: regions become kernels, kernels become code, buffers get their
// places.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/pipeline.h"

namespace tcc::backends {

// Lowers and compiles every distinct region once, on all cores, and plans the memory.
exec::Executable build_executable(const Scheduled& scheduled, const sched::Target& target,
                                  const CompileOptions& options);

// Returns the stages of one kernel, in order: "lower", what the template makes, and the passes of
// legalize.
std::vector<std::string_view> kernel_stages();

// These return whether anyone gets the state after a stage as text (the caller's dump or a log),
// and hand it over.
bool is_shown(std::string_view stage, const CompileOptions& options);
void show(std::string_view stage, const std::string& text, const CompileOptions& options);

// Regions as text, for dumps.
std::string regions_text(const std::vector<sched::ScheduledRegion>& regions);

}  // namespace tcc::backends
