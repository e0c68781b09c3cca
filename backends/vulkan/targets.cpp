// Vulkan's targets: "vulkan", the least that a device has, and profiles of devices,
// configs/targets/NAME.yaml.
#include <algorithm>
#include <optional>

#include "executable/vulkan_targets.h"
#include "scheduler/target.h"
#include "scheduler/target_profile.h"
#include "support/config_folder.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

using sched::Target;

// Vulkan 1.2 guarantees these, plus 8- and 16-bit storage and 64-bit integers, which every driver
// of interest has. The subgroup size is only a hint for the order of memory accesses: without
// shuffles, no kernel depends on it.
Target vulkan_minimum() {
  Target target;
  exec::set_vulkan_facts(target);
  target.arch = "generic";
  target.subgroup_size = 32;
  target.subgroup_size_min = 4;
  target.subgroup_size_max = 128;
  target.max_workgroup_size = 128;
  target.max_grid = {65535, 65535, 65535};
  target.shared_bytes = 16 << 10;
  target.max_buffer_bytes = int64_t{1} << 30;
  target.push_constant_bytes = 128;
  target.float64 = false;
  target.subgroup_shuffle = false;
  target.compute_units = 16;
  target.max_threads_per_unit = 1024;
  target.l2_bytes = 1 << 20;
  target.bandwidth = 100e9;
  target.flops_f32 = 2e12;
  return target;
}

// Finds a profile by the file's name, or by the architecture that drivers report: "llvmpipe" for
// lavapipe's.
std::optional<Target> named_profile(std::string_view wanted) {
  if (!sched::is_profile_name(wanted)) return std::nullopt;
  const auto folder = config_folder() / "targets";
  const auto names = sched::profile_names(folder);
  if (std::find(names.begin(), names.end(), wanted) != names.end())
    return sched::read_profile(folder / str(wanted, ".yaml"));
  return sched::find_profile_of(folder, wanted);
}

// "intel", or with the lanes of its subgroups, as Target::id() has them: "intel:sg16".
std::optional<Target> profile_target(std::string_view wanted) {
  const size_t colon = std::min(wanted.find(':'), wanted.size());
  const std::string_view lanes = wanted.substr(colon);
  std::optional<Target> target = named_profile(wanted.substr(0, colon));
  if (!target || lanes.empty()) return target;
  for (int n = target->subgroup_size_min; n <= target->subgroup_size_max; n *= 2)
    if (lanes == str(":sg", n)) {
      target->subgroup_size = n;
      return target;
    }
  return std::nullopt;
}

std::optional<Target> find_vulkan(std::string_view name) {
  return name.empty() ? vulkan_minimum() : profile_target(name);
}

std::vector<std::string> vulkan_names() {
  std::vector<std::string> all = {""};
  const std::vector<std::string> profiles = sched::profile_names(config_folder() / "targets");
  all.insert(all.end(), profiles.begin(), profiles.end());
  return all;
}

const sched::RegisterTargets registered_vulkan_targets({"vulkan", find_vulkan, vulkan_names});

}  // namespace
}  // namespace tcc::backends
