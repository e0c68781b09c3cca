#include "scheduler/target.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "executable/cuda_targets.h"
#include "scheduler/target_profile.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:", kProfilePrefix = "vulkan:";

// What Vulkan 1.2 guarantees, plus 8- and 16-bit storage and 64-bit integers, which every driver of
// interest has. The subgroup size is only a hint for the order of memory accesses: without
// shuffles, no kernel depends on it.
Target vulkan_minimum() {
  Target target;
  target.api = Api::vulkan;
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

// So that a name cannot leave the folder.
bool is_profile_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// By the file's name, or by the architecture that drivers report: "llvmpipe" for lavapipe's.
std::optional<Target> named_profile(std::string_view wanted) {
  if (!is_profile_name(wanted)) return std::nullopt;
  const auto folder = config_folder() / "targets";
  const auto names = profile_names(folder);
  if (std::find(names.begin(), names.end(), wanted) != names.end())
    return read_profile(folder / str(wanted, ".yaml"));
  for (const std::string& name : names)
    if (Target target = read_profile(folder / (name + ".yaml")); target.arch == wanted)
      return target;
  return std::nullopt;
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

}  // namespace

Target target_by_name(std::string_view wanted) {
  if (wanted == "vulkan") return vulkan_minimum();
  if (wanted.starts_with(kCudaPrefix))
    if (auto target = exec::cuda_target(wanted.substr(kCudaPrefix.size()))) {
      target->matrix_units = exec::allowed_matrix_units(std::move(target->matrix_units));
      return *std::move(target);
    }
  if (wanted.starts_with(kProfilePrefix))
    if (auto target = profile_target(wanted.substr(kProfilePrefix.size())))
      return *std::move(target);
  std::string known;
  for (const std::string& name : target_names()) known += (known.empty() ? "" : ", ") + name;
  fail_input("unknown target '", wanted, "'; there are ", known);
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const std::string& arch : exec::cuda_architectures())
    names.push_back(str(kCudaPrefix, arch));
  names.emplace_back("vulkan");
  for (const std::string& profile : profile_names(config_folder() / "targets"))
    names.push_back(str(kProfilePrefix, profile));
  return names;
}

}  // namespace tcc::sched
