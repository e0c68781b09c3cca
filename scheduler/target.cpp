#include "scheduler/target.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "scheduler/cuda_targets.h"
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

std::string_view name(Api api) {
  switch (api) {
    case Api::null: return "null";
    case Api::cuda: return "cuda";
    case Api::vulkan: return "vulkan";
  }
  TCC_CHECK(false, "Api ", static_cast<int>(api));
}

int64_t Target::concurrent_clusters(int64_t size) const {
  const int known = size == 2 ? clusters[0] : size == 4 ? clusters[1] : size == 8 ? clusters[2] : 0;
  return known > 0 ? known : std::max<int64_t>(1, compute_units / size);
}

int64_t Target::static_shared_bytes() const {
  constexpr int64_t kCudaStatic = 48 << 10;
  return api == Api::cuda ? std::min(shared_bytes, kCudaStatic) : shared_bytes;
}

bool Target::has_matrix_unit(std::string_view unit) const {
  return std::find(matrix_units.begin(), matrix_units.end(), unit) != matrix_units.end();
}

bool Target::multiplies_f8(std::string_view unit) const {
  return std::find(f8_units.begin(), f8_units.end(), unit) != f8_units.end();
}

double Target::least_seconds(double bytes, double flops, double flop_rate) const {
  return std::max(bytes / bandwidth, flops / (flop_rate > 0 ? flop_rate : flops_f32));
}

std::string Target::id() const {
  const std::string base = arch.empty() ? std::string(name(api)) : str(name(api), ":", arch);
  return api == Api::vulkan ? str(base, ":sg", subgroup_size) : base;
}

std::vector<std::string> allowed_matrix_units(std::vector<std::string> units) {
  const char* text = std::getenv("TCC_MATRIX_UNITS");
  if (!text) return units;
  std::set<std::string> allowed;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) allowed.insert(word);
  for (const std::string& word : allowed)
    if (!word.empty() && word != "none" && word != "wgmma" && word != "mma")
      fail_input("TCC_MATRIX_UNITS: no matrix unit '", word, "'; there are wgmma, mma and none");
  std::erase_if(units, [&](const std::string& unit) { return !allowed.count(unit); });
  return units;
}

Target target_by_name(std::string_view wanted) {
  if (wanted == "vulkan") return vulkan_minimum();
  if (wanted.starts_with(kCudaPrefix))
    if (auto target = cuda_target(wanted.substr(kCudaPrefix.size()))) {
      target->matrix_units = allowed_matrix_units(std::move(target->matrix_units));
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
  for (const std::string& arch : cuda_architectures()) names.push_back(str(kCudaPrefix, arch));
  names.emplace_back("vulkan");
  for (const std::string& profile : profile_names(config_folder() / "targets"))
    names.push_back(str(kProfilePrefix, profile));
  return names;
}

}  // namespace tcc::sched
