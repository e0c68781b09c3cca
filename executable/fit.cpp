#include "executable/fit.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "executable/quirks.h"
#include "support/bytes_text.h"
#include "support/error.h"

namespace tcc::exec {
namespace {

// The list is made before the first registration, whichever file that is in.
std::vector<Architectures>& architecture_rules() {
  static std::vector<Architectures> all;
  return all;
}

// Null: the API has none.
ArchitectureRule rule_of(Api api) {
  const auto found = std::ranges::find(architecture_rules(), api, &Architectures::api);
  return found == architecture_rules().end() ? nullptr : found->nearness;
}

// "block_m=64 stages=4" has the word "stages=4".
bool has_words(const std::string& config, const SwitchedOff& off) {
  std::istringstream words(config);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return std::ranges::all_of(off.values, [&](const auto& value) {
    return std::ranges::find(all, str(value.first, "=", value.second)) != all.end();
  });
}

void check_quirks(const KernelBinary& kernel, const Target& device) {
  for (const SwitchedOff& off : device.switched_off) {
    const bool is_template =
        off.part == exec::Part::kernel_template && off.what == kernel.template_name;
    const bool is_config = off.part == exec::Part::config &&
                           off.template_name == kernel.template_name &&
                           has_words(kernel.config, off);
    if (is_template || is_config)
      fail_device(is_config ? "the config " : "kernel ", off.what, " is ", off.text(),
                  ": compile the graph for this device");
  }
}

std::string note(const Target& device, std::string_view feature) {
  const std::string off = why_feature_off(device, feature);
  return off.empty() ? "" : " (" + off + ")";
}

// Features that quirks switched off. SPIR-V says which ones it uses, machine code does not: there
// all that it was compiled for count as used, but for those that kernels name.
void check_features(const Executable& executable, const Target& device) {
  for (const SwitchedOff& off : device.switched_off) {
    if (off.part != Part::feature) continue;
    bool is_used = executable.target.api != Api::vulkan && has_feature(executable.target, off.what);
    if (off.what == "box_copies")
      is_used = std::ranges::any_of(executable.kernels,
                                    [](const KernelBinary& kernel) { return kernel.num_maps > 0; });
    // Others check for these, or need not care.
    if (off.what == "matrix_units" || off.what == "overlapping_launches" ||
        off.what == "cooperative_launches")
      continue;
    if (is_used)
      fail_device("it was compiled for a device with ", off.what, ", which is ", off.text(),
                  ": compile the graph for this device");
  }
}

// Where sizes are numbers; else a context finds out, when it has them.
void check_sizes(const Executable& executable, const Target& device) {
  const Sizes none;
  const int64_t arena = none.of(executable.arena_bytes);
  if (arena > device.max_buffer_bytes)
    fail_device("an arena of ", bytes_text(arena), "; the device allocates at most ",
                bytes_text(device.max_buffer_bytes), " at once");
  for (const KernelLaunch* launch : launches(executable)) {
    const auto grid = none.of(launch->grid);
    for (size_t i = 0; i < grid.size(); ++i)
      if (static_cast<int64_t>(grid[i]) > device.max_grid[i])
        fail_device("a grid of ", grid[i], " workgroups; the device allows ", device.max_grid[i]);
  }
  check_loops(executable, none, device);
}

bool uses_matrix_units(const Executable& executable) {
  return std::ranges::any_of(executable.kernels,
                             [](const KernelBinary& k) { return !k.matrix_units.empty(); }) ||
         std::ranges::any_of(executable.variants,
                             [](const Variant& v) { return uses_matrix_units(v.executable); });
}

}  // namespace

void check_fit(const Executable& executable, const Target& device) {
  const Target& target = executable.target;
  if (target.api != device.api) fail_device("it is for ", name(target.api));
  const ArchitectureRule rule = rule_of(target.api);
  if (rule && rule(target.arch, device.arch) == 0)
    fail_device("its code runs on ", target.arch, ", not on ", device.arch);
  // Facts of the device that are in the kernels' text, and that no module states.
  if (target.native_exp2 && !device.native_exp2)
    fail_device("it counts on an exp2 within 2^-22, which the device does not promise",
                note(device, "native_exp2"));
  if (target.native_f16 && !device.native_f16)
    fail_device("it counts on exact conversions of f16, which the device does not promise");
  if (target.max_cluster > 1 && target.max_cluster > device.max_cluster)
    fail_device("it counts on clusters of ", target.max_cluster, " workgroups; the device has ",
                device.max_cluster, note(device, "clusters"));
  check_features(executable, device);
  for (const KernelBinary& kernel : executable.kernels) {
    check_units(kernel, device);
    check_cooperation(kernel, device);
    check_quirks(kernel, device);
  }
  for (const Variant& variant : executable.variants) check_fit(variant.executable, device);
  for (const ConstantInfo& constant : executable.constants)
    if (constant.bytes > device.max_buffer_bytes)
      fail_device("weight '", constant.name, "' has ", bytes_text(constant.bytes),
                  "; the device allocates at most ", bytes_text(device.max_buffer_bytes),
                  " at once");
  if (executable.dims.empty()) check_sizes(executable, device);
}

RegisterArchitectures::RegisterArchitectures(const Architectures& architectures) {
  architecture_rules().push_back(architectures);
}

Nearness nearness(const Executable& executable, const Target& device) {
  const Target& target = executable.target;
  Nearness near;
  const ArchitectureRule rule = rule_of(target.api);
  near.architecture = rule ? rule(target.arch, device.arch) : target.arch == device.arch;
  near.vendor = !target.vendor.empty() && target.vendor == device.vendor;
  near.kind = target.is_cpu == device.is_cpu;
  near.matrix_units = uses_matrix_units(executable);
  near.subgroup_size = target.subgroup_size == device.subgroup_size;
  return near;
}

}  // namespace tcc::exec
