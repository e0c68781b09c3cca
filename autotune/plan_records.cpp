#include "autotune/plan_records.h"

#include <algorithm>
#include <tuple>

#include "autotune/record_fields.h"
#include "autotune/record_file.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".plan.yaml";

fs::path file_name(const std::string& device) { return record_file_name(device, "plan"); }

// The content of a file that is about to be replaced. What cannot be read of it is kept beside it.
std::string read_old(const fs::path& path, PlanStore& content) {
  std::error_code error;
  if (!fs::exists(path, error)) return "";
  std::string text = read_file(path, kMaxRecordFileBytes);
  bool damaged = false;
  read_plan_text(text, path.string(), content, [&](const std::string&) { damaged = true; });
  if (damaged) write_file_atomic(path.string() + ".damaged", text);
  return text;
}

bool same_environment(const PlanRecord& a, const PlanRecord& b) {
  return std::tie(a.measured_on, a.driver, a.tcc, a.default_choice) ==
         std::tie(b.measured_on, b.driver, b.tcc, b.default_choice);
}

}  // namespace

double PlanRecord::ratio() const {
  const auto chosen = seconds.find(choice), otherwise = seconds.find(default_choice);
  if (chosen == seconds.end() || otherwise == seconds.end()) return 1;
  return chosen->second / otherwise->second;
}

bool preferred(const PlanRecord& a, const PlanRecord& b) {
  if (a.date != b.date) return a.date > b.date;
  if (a.ratio() != b.ratio()) return a.ratio() < b.ratio();
  return a < b;
}

int64_t PlanStore::choose(const sched::PlanSite& site, const sched::Target& target) const {
  const PlanRecord* record = find(site, target);
  return record && is_alternative(site, record->choice) ? record->choice : site.default_choice;
}

const PlanRecord* PlanStore::find(const sched::PlanSite& site, const sched::Target& target) const {
  const auto found = records_.find({target.id(), site.kind, site.key});
  return found == records_.end() ? nullptr : &found->second;
}

void PlanStore::put(PlanRecord record) {
  PlanKey key = record.key;
  records_.insert_or_assign(std::move(key), std::move(record));
}

void PlanStore::add(PlanRecord record) {
  const auto found = records_.find(record.key);
  if (found == records_.end() || preferred(record, found->second)) put(std::move(record));
}

void PlanStore::merge(const PlanStore& other) {
  for (const auto& [key, record] : other.records_) add(record);
}

void PlanStore::override_with(const PlanStore& newer) {
  for (const auto& [key, record] : newer.records_) put(record);
}

void PlanStore::update(const PlanStore& newer) {
  for (const auto& [key, record] : newer.records_) {
    const auto found = records_.find(key);
    if (found == records_.end() || found->second.choice != record.choice ||
        !same_environment(found->second, record))
      put(record);
  }
}

bool is_alternative(const sched::PlanSite& site, int64_t choice) {
  return std::binary_search(site.alternatives.begin(), site.alternatives.end(), choice);
}

bool is_plan_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(kSuffix) && !name.starts_with(".");
}

std::vector<fs::path> plan_files(const fs::path& path,
                                 const std::function<void(const std::string&)>& warn) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return is_plan_file(path) ? std::vector<fs::path>{path} : std::vector<fs::path>{};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (is_plan_file(entry->path())) files.push_back(entry->path());
  if (error) warn(str(path.string(), ": ", error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

void read_plan_path(const fs::path& path, PlanStore& store,
                    const std::function<void(const std::string&)>& warn) {
  for_each_text(
      plan_files(path, warn),
      [&](const std::string& text, const std::string& file) {
        read_plan_text(text, file, store, warn);
      },
      warn);
}

PlanStore load_plans(const std::vector<fs::path>& paths,
                     const std::function<void(const std::string&)>& warn) {
  std::vector<fs::path> all = default_tuning_folders();
  all.insert(all.end(), paths.begin(), paths.end());
  PlanStore store;
  for (const fs::path& path : all) {
    PlanStore one;
    read_plan_path(path, one, warn);
    store.override_with(one);
  }
  return store;
}

std::vector<fs::path> save_plans(const PlanStore& store, const fs::path& folder, Saving saving) {
  prepare_record_folder(folder);
  FolderLock lock(folder);
  std::map<std::string, PlanStore> by_device;
  for (const auto& [key, record] : store.records()) by_device[key.device].add(record);
  std::vector<fs::path> written;
  for (const auto& [device, plans] : by_device) {
    const fs::path path = folder / file_name(device);
    PlanStore content;
    const std::string before = read_old(path, content);
    saving == Saving::update ? content.update(plans) : content.merge(plans);
    std::vector<const PlanRecord*> list;
    for (const auto& [key, record] : content.records())
      if (key.device == device) list.push_back(&record);
    if (std::string text = plan_file_text(list); text != before) write_file_atomic(path, text);
    written.push_back(path);
  }
  return written;
}

}  // namespace tcc::autotune
