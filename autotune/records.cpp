#include "autotune/records.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "autotune/record_file.h"
#include "backends/compile/code.h"
#include "backends/compile/glsl.h"
#include "backends/compile/nvrtc.h"
#include "scheduler/target_profile.h"
#include "support/error.h"
#include "support/file.h"
#include "support/hash.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

bool better(const Record& a, const Record& b) {
  if (a.seconds != b.seconds) return a.seconds < b.seconds;
  return a.best.hash() < b.best.hash();
}

std::string compiler_of(sched::Api api) {
  if (api == sched::Api::null || !backends::compiler_missing(api).empty()) return "";
  return api == sched::Api::cuda ? backends::nvrtc_id() : backends::glsl_compiler_id();
}

// What is unknown is no difference: a target without a device names no driver.
bool differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

std::string hash_text(uint64_t hash) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace

RecordKey key_of(const sched::Template& kernel_template, const sched::Region& region,
                 const sched::Target& target) {
  return {std::string(kernel_template.name()), kernel_template.version(),
          hash_of(sched::signature(region)).hex(), target.id()};
}

Environment environment_of(const sched::ConfigSpace& space, const sched::Target& target) {
  return {target.device, target.driver, compiler_of(target.api), hash_text(space.hash())};
}

std::string operands_text(const sched::Region& region) {
  auto list = [&](const std::vector<const ir::Value*>& values) {
    std::string text;
    for (const ir::Value* value : values) {
      text += (text.empty() ? "" : ", ") + ir::to_string(value->type);
      auto layout = region.layouts.find(value);
      if (layout == region.layouts.end()) continue;
      if (layout->second == sched::Layout::row_major(ir::const_shape(*value))) continue;
      std::string strides;
      for (int64_t stride : layout->second.strides)
        strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
      text += "{" + strides + "}";
    }
    return text;
  };
  std::string text = list(region.inputs) + " -> " + list(region.outputs);
  constexpr size_t kMost = 400;  // a fused region may have dozens of operands
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

sched::ConfigChoice RecordStore::choose(const sched::Template& kernel_template,
                                        const sched::Region& region,
                                        const sched::Target& target) const {
  auto found = records_.find(key_of(kernel_template, region, target));
  if (found != records_.end()) {
    const Record& record = found->second;
    sched::ConfigSpace space = kernel_template.space(region, target);
    if (space.violation(record.best).empty()) {
      const Environment& environment = record.environment;
      if (differ(environment.device, target.device)) return {record.best, sched::Tier::device};
      bool stale = differ(environment.driver, target.driver) ||
                   differ(environment.space, hash_text(space.hash()));
      return {record.best, stale ? sched::Tier::stale : sched::Tier::exact};
    }
  }
  return sched::analytic_configs().choose(kernel_template, region, target);
}

void RecordStore::add(Record record) {
  auto [entry, inserted] = records_.try_emplace(record.key, record);
  if (!inserted && better(record, entry->second)) entry->second = std::move(record);
}

void RecordStore::override_with(const RecordStore& newer) {
  for (const auto& [key, record] : newer.records_) records_.insert_or_assign(key, record);
}

void RecordStore::update(const RecordStore& newer) {
  for (const auto& [key, record] : newer.records_) {
    auto [entry, inserted] = records_.try_emplace(key, record);
    if (inserted) continue;
    if (entry->second.environment != record.environment || better(record, entry->second))
      entry->second = record;
  }
}

std::vector<fs::path> default_tuning_folders() {
  std::vector<fs::path> paths;
  std::error_code error;
  auto append = [&](const fs::path& path) {
    if (fs::exists(path, error)) paths.push_back(path);
  };
  if (fs::path configs = sched::config_folder(); !configs.empty()) append(configs / "tuned");
  if (const char* variable = std::getenv("TCC_TUNING_PATH")) {
    std::istringstream list(variable);
    for (std::string path; std::getline(list, path, ':');)
      if (!path.empty()) append(path);
  }
  return paths;
}

RecordStore load_records(const std::vector<fs::path>& paths,
                         const std::function<void(const std::string&)>& warn) {
  std::vector<fs::path> all = default_tuning_folders();
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) fail_input(path.string(), ": no such file or folder");
    all.push_back(path);
  }
  RecordStore store;
  for (const fs::path& path : all) {
    RecordStore one;
    read_record_path(path, one, warn);
    store.override_with(one);
  }
  return store;
}

void prepare_record_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_input(folder.string(), ": ", error.message());
  if (::access(folder.c_str(), W_OK) != 0) fail_input(folder.string(), ": ", std::strerror(errno));
}

std::vector<fs::path> save_records(const RecordStore& store, const fs::path& folder) {
  prepare_record_folder(folder);
  std::map<std::pair<std::string, std::string>, RecordStore> by_file;
  for (const auto& [key, record] : store.records())
    by_file[{key.device, key.kernel_template}].add(record);

  std::vector<fs::path> written;
  for (const auto& [id, records] : by_file) {
    fs::path path = folder / record_file_name(id.first, id.second);
    RecordStore content;
    if (std::error_code error; fs::exists(path, error))
      read_record_path(path, content, [](const std::string&) {});
    content.update(records);
    std::vector<const Record*> list;
    for (const auto& [key, record] : content.records())
      if (key.device == id.first && key.kernel_template == id.second) list.push_back(&record);
    write_file_atomic(path, record_file_text(list));
    written.push_back(path);
  }
  return written;
}

}  // namespace tcc::autotune
