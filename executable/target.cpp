#include "executable/target.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <sstream>

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
  constexpr int64_t kCudaStatic = 48 << 10;
  return api == Api::cuda ? std::min(shared_bytes, kCudaStatic) : shared_bytes;
}

bool Target::has_matrix_unit(std::string_view unit) const {
  return std::find(matrix_units.begin(), matrix_units.end(), unit) != matrix_units.end();
}

bool Target::has_device_source(std::string_view source) const {
  return std::find(device_sources.begin(), device_sources.end(), source) != device_sources.end();
}

double Target::clock() const {
  return flops_f32 / (2 * static_cast<double>(fma_lanes) * static_cast<double>(compute_units));
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

}  // namespace tcc::exec
