// Targets that kernels are generated for, by name. Generating text needs no such device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "executable/target.h"

namespace tcc::sched {

using exec::Api;
using exec::api_of;
using exec::FloatControls;
using exec::name;
using exec::Target;

// A target by name, without a device: "cuda:sm_80", "cuda:sm_90a", ... (executable/cuda_targets.h),
// "vulkan" (a conservative Vulkan 1.2 device), or "vulkan:PROFILE" for a file
// configs/targets/PROFILE.yaml. An id() that a device reports is a name too, where there is a
// profile of its architecture: "vulkan:llvmpipe:sg8". Throws Error(bad_input) listing what there
// is.
Target target_by_name(std::string_view name);
std::vector<std::string> target_names();

}  // namespace tcc::sched
