// Targets that kernels are generated for, by name. Generating text needs no such device.
#pragma once

#include <optional>
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

// A target by name, without a device: the name of an API, alone or with one of its targets.
// "cuda:sm_80", "cuda:sm_90a", ... (executable/cuda_targets.h), "vulkan" (a conservative Vulkan 1.2
// device), or "vulkan:PROFILE" for a file configs/targets/PROFILE.yaml. An id() that a device
// reports is a name too, where there is a profile of its architecture: "vulkan:llvmpipe:sg8".
// Throws Error(bad_input) listing what there is.
Target target_by_name(std::string_view name);
std::vector<std::string> target_names();

// The targets of one API. Names are those after "API:"; "" is the API's name alone.
struct TargetKind {
  std::string_view api;
  std::optional<Target> (*find)(std::string_view name) = nullptr;
  std::vector<std::string> (*names)() = nullptr;
};
// Makes targets known, from a file of their back end's folder:
//   const RegisterTargets registered({"cuda", find, names});
class RegisterTargets {
 public:
  explicit RegisterTargets(const TargetKind& kind);
};

}  // namespace tcc::sched
