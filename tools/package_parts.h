// The contents that tcc-compile puts into a package.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "executable/package.h"
#include "scheduler/target.h"

namespace tcc::tools {

// The targets of "cuda:sm_80,cuda:sm_90a,vulkan:nvidia", in that order, and PTX for the CUDA
// devices that come after them: of each architecture without instructions of its own or, where all
// have them, of the oldest one. Throws Error(bad_input) for an unknown target and one that is given
// twice.
std::vector<sched::Target> package_targets(const std::string& list);

// The tensors of a .safetensors file in the package's folder or below. Throws Error(bad_input).
exec::WeightFile weight_file(const std::filesystem::path& file,
                             const std::filesystem::path& package);

}  // namespace tcc::tools
