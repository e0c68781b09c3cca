#include "autotune/records.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <tuple>

#include "autotune/record_fields.h"
#include "autotune/record_file.h"
#include "backends/backend.h"
#include "scheduler/target_profile.h"
#include "scheduler/template.h"
#include "support/config_folder.h"
#include "support/error.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/system.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

// "570.9" before "570.12": runs of digits compare as numbers.
std::weak_ordering compare_versions(std::string_view a, std::string_view b) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto digits = [&](std::string_view text, size_t& at) {
    size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    std::string_view run = text.substr(begin, at - begin);
    run.remove_prefix(std::min(run.find_first_not_of('0'), run.size()));
    return run;
  };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      std::string_view x = digits(a, i), y = digits(b, j);
      if (auto order = x.size() <=> y.size(); order != 0) return order;
      if (auto order = x <=> y; order != 0) return order;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) <=> static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() - i <=> b.size() - j;
}

// Compares the texts of the environments first: times in two different environments cannot be
// compared.
std::weak_ordering compare_environments(const Record& a, const Record& b) {
  const std::pair<const std::string*, const std::string*> texts[] = {
      {&a.environment.device, &b.environment.device},
      {&a.environment.driver, &b.environment.driver},
      {&a.environment.compiler, &b.environment.compiler},
      {&a.tcc, &b.tcc}};
  for (const auto& [x, y] : texts)
    if (auto order = compare_versions(*x, *y); order != 0) return order;
  return std::weak_ordering::equivalent;
}

bool same_environment(const Record& a, const Record& b) {
  return a.environment == b.environment && a.tcc == b.tcc;
}

// A sweep's find has met in duels what was in use, ours: times of another day, measured beside
// another load, have no say in it. The same config is no news: two sweeps agree, and diffs are
// small. But a gain that nobody knew, after an interrupt, is news.
bool supersedes(const Record& newer, const Record& ours) {
  const bool tells_gain = ours.default_seconds <= 0 && newer.default_seconds > 0;
  return !same_environment(newer, ours) || newer.best != ours.best || tells_gain;
}

std::string compiler_of(sched::Api api) {
  const backends::Backend& backend = backends::backend_for(api);
  return backend.compiler_missing().empty() ? backend.compiler_id() : "";
}

// The templates' spaces and default configs look at these.
std::map<std::string, int64_t> capabilities_of(const sched::Target& target) {
  std::map<std::string, int64_t> all = {{"compute_units", target.compute_units},
                                        {"l2_bytes", target.l2_bytes},
                                        {"shared_bytes", target.shared_bytes},
                                        {"subgroup_size", target.subgroup_size},
                                        {"workgroup_size", target.max_workgroup_size}};
  if (target.is_cpu) all["is_cpu"] = 1;
  for (const sched::Template* one : sched::templates())
    if (target.has_matrix_unit(one->unit())) all[std::string(one->unit())] = 1;
  return all;
}

std::string hash_text(uint64_t hash) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace

RecordKey key_of(const sched::Candidate& candidate) {
  const sched::Template& by = candidate.kernel_template();
  return {std::string(by.name()), by.version(), sched::signature(candidate.region()),
          candidate.target().id()};
}

Environment environment_of(const sched::ConfigSpace& space, const sched::Target& target) {
  return {target.device,           target.driver, compiler_of(target.api),
          hash_text(space.hash()), target.vendor, capabilities_of(target)};
}

std::string tcc_version() { return TCC_VERSION; }

std::string operands_text(const sched::Region& region) {
  auto list = [&](const std::vector<const ir::Value*>& values) {
    std::string text;
    for (const ir::Value* value : values) {
      text += (text.empty() ? "" : ", ") + ir::to_string(value->type);
      auto layout = region.layouts.find(value);
      if (layout == region.layouts.end()) continue;
      if (layout->second == sched::Layout::row_major(value->shape())) continue;
      std::string strides;
      for (const ir::SymInt& stride : layout->second.strides)
        strides += (strides.empty() ? "" : ", ") + stride.to_string();
      text += "{" + strides + "}";
    }
    return text;
  };
  std::string text = list(region.inputs) + " -> " + list(region.outputs);
  constexpr size_t kMost = 400;  // a fused region may have dozens of operands
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

bool preferred(const Record& a, const Record& b) {
  if (auto order = compare_environments(a, b); order != 0) return order > 0;
  if (a.seconds != b.seconds) return a.seconds < b.seconds;
  if (auto order = a.best.hash() <=> b.best.hash(); order != 0) return order < 0;
  auto all = [](const Record& r) {
    return std::tie(r.best, r.environment.device, r.environment.driver, r.environment.compiler,
                    r.environment.space, r.environment.vendor, r.environment.capabilities, r.tcc,
                    r.date, r.policy, r.name, r.operands, r.family, r.extents, r.low, r.high,
                    r.default_seconds, r.samples, r.error, r.runners_up);
  };
  return all(a) < all(b);
}

RecordStore::FamilyKey RecordStore::family_key(const Record& record) {
  return {record.key.kernel_template, record.key.version, record.key.device, record.family};
}

void RecordStore::erase(const RecordKey& key) {
  auto found = records_.find(key);
  if (found == records_.end()) return;
  auto family = families_.find(family_key(found->second));
  if (family != families_.end()) family->second.erase(key);
  records_.erase(found);
}

void RecordStore::put(Record record) {
  erase(record.key);
  if (!record.family.empty()) families_[family_key(record)].insert(record.key);
  RecordKey key = record.key;
  records_.emplace(std::move(key), std::move(record));
}

void RecordStore::add(Record record) {
  auto found = records_.find(record.key);
  if (found == records_.end() || preferred(record, found->second)) put(std::move(record));
}

void RecordStore::merge(const RecordStore& other) {
  for (const auto& [key, record] : other.records_) add(record);
}

void RecordStore::override_with(const RecordStore& newer) {
  for (const auto& [key, record] : newer.records_) put(record);
}

void RecordStore::update(const RecordStore& newer) {
  for (const auto& [key, record] : newer.records_) {
    auto found = records_.find(key);
    if (found == records_.end() || supersedes(record, found->second)) put(record);
  }
}

std::vector<fs::path> default_tuning_folders(const std::function<void(const std::string&)>& warn) {
  std::vector<fs::path> paths;
  std::error_code error;
  auto append = [&](const fs::path& path) {
    const bool exists = fs::exists(path, error);
    if (exists) paths.push_back(path);
    return exists;
  };
  if (fs::path configs = config_folder(); !configs.empty()) append(configs / "tuned");
  if (const char* variable = std::getenv("TCC_TUNING_PATH")) {
    std::istringstream list(variable);
    for (std::string path; std::getline(list, path, system::kPathListSeparator);)
      if (!path.empty() && !append(path) && warn)
        warn(str("TCC_TUNING_PATH: no file or folder '", path, "'"));
  }
  return paths;
}

std::vector<fs::path> tuning_paths(const std::vector<fs::path>& paths,
                                   const std::function<void(const std::string&)>& warn) {
  std::vector<fs::path> all = default_tuning_folders(warn);
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) fail_input(path.string(), ": no such file or folder");
    all.push_back(path);
  }
  return all;
}

RecordStore load_records(const std::vector<fs::path>& paths,
                         const std::function<void(const std::string&)>& warn) {
  RecordStore store;
  for (const fs::path& path : tuning_paths(paths, warn)) {
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

namespace {

// The records of a file that is about to be replaced. What cannot be read of it is kept beside it,
// under a name that no reader takes for a tuning file.
std::string read_old(const fs::path& path, RecordStore& content) {
  std::error_code error;
  if (!fs::exists(path, error)) return "";
  std::string text = read_file(path, kMaxRecordFileBytes);
  bool damaged = false;
  read_record_text(text, path.string(), content, [&](const std::string&) { damaged = true; });
  if (damaged) write_file_atomic(path.string() + ".damaged", text);
  return text;
}

}  // namespace

std::vector<fs::path> save_records(const RecordStore& store, const fs::path& folder,
                                   Saving saving) {
  prepare_record_folder(folder);
  FolderLock lock(folder);
  std::map<std::pair<std::string, std::string>, RecordStore> by_file;
  for (const auto& [key, record] : store.records())
    by_file[{key.device, key.kernel_template}].add(record);

  std::vector<fs::path> written;
  for (const auto& [id, records] : by_file) {
    fs::path path = folder / record_file_name(id.first, id.second);
    RecordStore content;
    std::string before = read_old(path, content);
    saving == Saving::update ? content.update(records) : content.merge(records);
    std::vector<const Record*> list;
    for (const auto& [key, record] : content.records())
      if (key.device == id.first && key.kernel_template == id.second) list.push_back(&record);
    if (std::string text = record_file_text(list); text != before) write_file_atomic(path, text);
    written.push_back(path);
  }
  return written;
}

}  // namespace tcc::autotune
