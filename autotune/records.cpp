#include "autotune/records.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "support/error.h"
#include "support/file.h"

namespace tcc::autotune {
namespace {

constexpr int kSchema = 1;
constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
constexpr size_t kMaxParameters = 32;

bool better(const Record& a, const Record& b) {
  if (a.seconds != b.seconds) return a.seconds < b.seconds;
  return a.best.hash() < b.best.hash();
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string file_text(const std::string& device, const std::string& kernel_template, const std::vector<const Record*>& records) {
  std::ostringstream out;
  out << "# Tuning records of tcc: docs/tuning.md. Sorted; merge with tcc-tune merge.\n";
  out << "tcc_tuning: " << kSchema << "\ndevice: " << quoted(device) << "\ntemplate: " << kernel_template << "\nrecords:\n";
  for (const Record* r : records) {
    out << "  - name: " << quoted(r->name) << "\n    region: " << quoted(r->key.region) << "\n    version: " << r->key.version
        << "\n    space: " << quoted(r->space_hash) << "\n    driver: " << quoted(r->driver) << "\n    config: {";
    bool first = true;
    for (const auto& [name, value] : r->best.values()) {
      out << (first ? "" : ", ") << name << ": " << value;
      first = false;
    }
    out << "}\n    seconds: " << number(r->seconds) << "\n    default_seconds: " << number(r->default_seconds)
        << "\n    samples: " << r->samples << "\n    error: " << number(r->error) << "\n";
  }
  return out.str();
}

class FileReader {
 public:
  FileReader(const std::filesystem::path& path, RecordStore& store, const std::function<void(const std::string&)>& warn)
      : path_(path), store_(store), warn_(warn) {}

  void run() {
    try {
      YAML::Node file = YAML::Load(read_file(path_, kMaxFileBytes));
      if (!file.IsMap() || !file["tcc_tuning"]) return skip(file, "is not a tuning file");
      if (file["tcc_tuning"].as<int>() != kSchema) return skip(file, "has another schema version than " + std::to_string(kSchema));
      auto device = file["device"].as<std::string>();
      auto kernel_template = file["template"].as<std::string>();
      for (const auto& entry : file["records"]) read_record(entry, device, kernel_template);
    } catch (const YAML::Exception& error) {
      warn_(str(path_.string(), ":", error.mark.line + 1, ": ", error.msg, "; file skipped"));
    } catch (const Error& error) {
      warn_(str(error.what(), "; file skipped"));
    }
  }

 private:
  void skip(const YAML::Node& node, const std::string& reason) const {
    warn_(str(path_.string(), ":", node.Mark().line + 1, ": ", reason, "; skipped"));
  }

  void read_record(const YAML::Node& entry, const std::string& device, const std::string& kernel_template) {
    try {
      Record record;
      record.key = {kernel_template, entry["version"].as<int>(), entry["region"].as<std::string>(), device};
      record.name = entry["name"].as<std::string>("");
      record.space_hash = entry["space"].as<std::string>("");
      record.driver = entry["driver"].as<std::string>("");
      if (!entry["config"].IsMap() || entry["config"].size() > kMaxParameters) return skip(entry, "record without a usable config");
      for (const auto& parameter : entry["config"]) record.best.set(parameter.first.as<std::string>(), parameter.second.as<int64_t>());
      record.seconds = entry["seconds"].as<double>();
      record.default_seconds = entry["default_seconds"].as<double>(0);
      record.samples = entry["samples"].as<int64_t>(0);
      record.error = entry["error"].as<double>(0);
      if (!(record.seconds > 0) || !(record.seconds < 1e6)) return skip(entry, "record with an impossible time");
      store_.add(std::move(record));
    } catch (const YAML::Exception& error) {
      skip(entry, "damaged record (" + error.msg + ")");
    }
  }

  const std::filesystem::path& path_;
  RecordStore& store_;
  const std::function<void(const std::string&)>& warn_;
};

void read_path(const std::filesystem::path& path, RecordStore& store, const std::function<void(const std::string&)>& warn) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return FileReader(path, store, warn).run();
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) FileReader(file, store, warn).run();
}

std::string file_name(const std::string& device, const std::string& kernel_template) {
  std::string name = device + "." + kernel_template + ".yaml";
  std::replace_if(name.begin(), name.end(), [](char c) { return !(std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-'); }, '-');
  return name;
}

}  // namespace

std::string hash_text(uint64_t hash) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

RecordKey key_of(const sched::Template& kernel_template, const sched::Region& region, const sched::Target& target) {
  return {std::string(kernel_template.name()), kernel_template.version(), sched::signature(region), target.id()};
}

sched::ConfigChoice RecordStore::choose(const sched::Template& kernel_template, const sched::Region& region,
                                        const sched::Target& target) const {
  auto found = records_.find(key_of(kernel_template, region, target));
  if (found != records_.end()) {
    sched::ConfigSpace space = kernel_template.space(region, target);
    if (space.violation(found->second.best).empty()) {
      bool fresh = found->second.driver == target.driver && found->second.space_hash == hash_text(space.hash());
      return {found->second.best, fresh ? sched::Tier::exact : sched::Tier::stale};
    }
  }
  return sched::analytic_configs().choose(kernel_template, region, target);
}

void RecordStore::add(Record record) {
  auto [entry, inserted] = records_.try_emplace(record.key, record);
  if (!inserted && better(record, entry->second)) entry->second = std::move(record);
}

RecordStore load_records(const std::vector<std::filesystem::path>& paths, const std::function<void(const std::string&)>& warn) {
  RecordStore store;
  for (const auto& path : paths) read_path(path, store, warn);
  if (const char* variable = std::getenv("TCC_TUNING_PATH")) {
    std::istringstream list(variable);
    for (std::string path; std::getline(list, path, ':');)
      if (!path.empty()) read_path(path, store, warn);
  }
  return store;
}

std::vector<std::filesystem::path> save_records(const RecordStore& store, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::map<std::pair<std::string, std::string>, RecordStore> files;
  for (const auto& [key, record] : store.records()) files[{key.device, key.kernel_template}].add(record);
  std::vector<std::filesystem::path> written;
  for (auto& [name, content] : files) {
    std::filesystem::path path = folder / file_name(name.first, name.second);
    if (std::filesystem::exists(path)) read_path(path, content, [](const std::string&) {});
    std::vector<const Record*> sorted;
    for (const auto& [key, record] : content.records())
      if (key.device == name.first && key.kernel_template == name.second) sorted.push_back(&record);
    std::sort(sorted.begin(), sorted.end(), [](const Record* a, const Record* b) { return std::tie(a->name, a->key) < std::tie(b->name, b->key); });
    write_file_atomic(path, file_text(name.first, name.second, sorted));
    written.push_back(path);
  }
  return written;
}

}  // namespace tcc::autotune
