#include "executable/target.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "support/error.h"

namespace tcc::exec {

namespace {

// The names of all APIs, by number; names stay where they are.
struct ApiList {
  std::mutex mutex;
  std::deque<std::string> names = {"null", "cuda", "vulkan"};
};

ApiList& all_apis() {
  static ApiList* const instance = new ApiList;
  return *instance;
}

}  // namespace

std::string_view name(Api api) {
  ApiList& all = all_apis();
  const std::lock_guard lock(all.mutex);
  TCC_CHECK(static_cast<size_t>(api) < all.names.size(), "Api ", static_cast<int>(api));
  return all.names[static_cast<size_t>(api)];
}

Api api_of(std::string_view name) {
  constexpr size_t kMost = 200;
  ApiList& all = all_apis();
  const std::lock_guard lock(all.mutex);
  const auto found = std::find(all.names.begin(), all.names.end(), name);
  const auto number = found - all.names.begin();
  if (found == all.names.end()) {
    if (all.names.size() >= kMost) fail_input("too many APIs: ", name);
    all.names.emplace_back(name);
  }
  return static_cast<Api>(number);
}

std::optional<Api> find_api(std::string_view name) {
  ApiList& all = all_apis();
  const std::lock_guard lock(all.mutex);
  const auto found = std::find(all.names.begin(), all.names.end(), name);
  if (found == all.names.end()) return std::nullopt;
  return static_cast<Api>(found - all.names.begin());
}

std::vector<std::string> api_names() {
  ApiList& all = all_apis();
  const std::lock_guard lock(all.mutex);
  return {all.names.begin(), all.names.end()};
}

int64_t Target::concurrent_clusters(int64_t size) const {
  const int known = size == 2 ? clusters[0] : size == 4 ? clusters[1] : size == 8 ? clusters[2] : 0;
  return known > 0 ? known : std::max<int64_t>(1, compute_units / size);
}

int64_t Target::static_shared_bytes() const {
  return declared_shared_bytes > 0 ? std::min(shared_bytes, declared_shared_bytes) : shared_bytes;
}

bool Target::has_matrix_unit(std::string_view kind) const {
  return std::ranges::find(matrix_units, kind, &MatrixUnit::kind) != matrix_units.end();
}

namespace {

bool is_product(const MatrixUnit& unit, std::string_view kind, DType a, DType b, DType sum) {
  return unit.kind == kind && unit.a == a && unit.b == b && unit.c == sum && unit.d == sum;
}

}  // namespace

bool Target::multiplies(std::string_view kind, DType a, DType b, DType sum) const {
  return std::ranges::any_of(
      matrix_units, [&](const MatrixUnit& unit) { return is_product(unit, kind, a, b, sum); });
}

int64_t Target::exact_sum(std::string_view kind, DType a, DType b, DType sum) const {
  int64_t least = 0;
  for (const MatrixUnit& unit : matrix_units)
    if (unit.exact_sum > 0 && is_product(unit, kind, a, b, sum))
      least = least == 0 ? unit.exact_sum : std::min<int64_t>(least, unit.exact_sum);
  return least;
}

std::string Target::why_off(std::string_view template_name) const {
  for (const SwitchedOff& off : switched_off)
    if (off.part == Part::kernel_template && off.what == template_name) return off.text();
  return "";
}

double Target::clock() const {
  return flops_f32 / (2 * static_cast<double>(fma_lanes) * static_cast<double>(compute_units));
}

bool Target::multiplies_f8(std::string_view kind) const {
  return std::ranges::any_of(matrix_units, [&](const MatrixUnit& unit) {
    return unit.kind == kind && is_f8(unit.a) && is_f8(unit.b);
  });
}

double Target::least_seconds(double bytes, double flops, double flop_rate) const {
  return std::max(bytes / bandwidth, flops / (flop_rate > 0 ? flop_rate : flops_f32));
}

std::string Target::id() const {
  const std::string base = arch.empty() ? std::string(name(api)) : str(name(api), ":", arch);
  return fixed_subgroups ? str(base, ":sg", subgroup_size) : base;
}

void set_software(Target& target) {
  target.is_cpu = target.indexed_registers = target.serial_workgroups = true;
  target.wide_accesses = false;
  target.full_workgroup = 64;
  target.busy_threads = 64;
}

}  // namespace tcc::exec
