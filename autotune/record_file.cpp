// Reading tuning files, which come from anywhere: every value has a type, a range and a limit.
#include "autotune/record_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "autotune/migration.h"
#include "autotune/plan_records.h"
#include "autotune/record_fields.h"
#include "frontend/yaml/document.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;
using Warn = std::function<void(const std::string&)>;

constexpr size_t kMaxFiles = 4096;  // of one folder
constexpr size_t kMaxRecords = 20000;
constexpr size_t kMaxEnvironments = 256;
constexpr size_t kMaxEntries = 32;    // of a config, of capabilities
constexpr size_t kMaxExtents = 1024;  // of a region
constexpr int64_t kMaxExtent = int64_t{1} << 62;
constexpr double kMaxRecordSeconds = 1e6;

// A flat map of words to integers.
std::vector<std::pair<std::string, int64_t>> integers(const yaml::Item& item) {
  std::vector<std::pair<std::string, int64_t>> result;
  auto entries = item.map();
  if (entries.size() > kMaxEntries) item.fail(str("has more than ", kMaxEntries, " entries"));
  for (const auto& [name, value] : entries) {
    if (!is_word(name)) value.fail("a name is of letters, digits and _, at most 64");
    result.emplace_back(name, integer_in(value, -kMaxFieldValue, kMaxFieldValue));
  }
  return result;
}

sched::Config config_of(const yaml::Item& item) {
  sched::Config config;
  for (auto& [name, value] : integers(item)) config.set(name, value);
  if (config.values().empty()) item.fail("has no parameters");
  return config;
}

std::pair<double, double> interval_of(const yaml::Item& map) {
  if (!map.has("interval")) return {0, 0};
  yaml::Item item = map.at("interval");
  std::vector<yaml::Item> ends = item.list();
  if (ends.size() != 2) item.fail("must be [low, high]");
  double low = seconds_of(ends[0]), high = seconds_of(ends[1]);
  if (low > high) item.fail("must be [low, high]");
  return {low, high};
}

RunnerUp read_runner_up(const yaml::Item& item) {
  item.allow_keys({"config", "median", "interval"});
  auto [low, high] = interval_of(item);
  return {config_of(item.at("config")), seconds_of(item.at("median")), low, high};
}

void read_best(const yaml::Item& item, Record& record) {
  item.allow_keys({"config", "median", "interval", "samples", "error"});
  record.best = config_of(item.at("config"));
  record.seconds = seconds_of(item.at("median"));
  std::tie(record.low, record.high) = interval_of(item);
  if (item.has("samples")) record.samples = integer_in(item.at("samples"), 0, 1000000000);
  if (item.has("error")) record.error = number_in(item.at("error"), 0, 1);
}

struct Surroundings {
  Environment environment;
  std::string tcc;
};

Surroundings read_environment(const yaml::Item& item) {
  item.allow_keys({"vendor", "device", "capabilities", "driver", "compiler", "tcc"});
  Surroundings result;
  result.environment.device = short_text(item, "device");
  result.environment.driver = short_text(item, "driver");
  result.environment.compiler = short_text(item, "compiler");
  result.environment.vendor = short_text(item, "vendor");
  if (item.has("capabilities"))
    for (auto& [name, value] : integers(item.at("capabilities")))
      result.environment.capabilities[name] = value;
  result.tcc = short_text(item, "tcc");
  return result;
}

class RecordReader {
 public:
  RecordReader(RecordStore& store, const Warn& warn, int schema)
      : store_(store), warn_(warn), schema_(schema) {}

  void read(const yaml::Item& document) {
    if (!document.is_map() || !document.has("tcc_tuning")) document.fail("is no tuning file");
    yaml::Item schema = document.at("tcc_tuning");
    check_schema(schema);
    document.allow_keys({"tcc_tuning", "target", "template", "environments", "records"});
    device_ = name_text(document.at("target"));
    template_ = name_text(document.at("template"));
    read_environments(document);
    yaml::Item list = document.at("records");
    std::vector<yaml::Item> records = list.list();
    if (records.size() > kMaxRecords) list.fail(str("has more than ", kMaxRecords, " records"));
    for (const yaml::Item& item : records) {
      try {
        add(item);
      } catch (const Error& error) { warn_(str(error.what(), "; record skipped")); }
    }
  }

 private:
  void check_schema(const yaml::Item& schema) const {
    if (schema.integer() == schema_) return;
    if (schema.integer() == kMigratedSchema)
      schema.fail(str("schema ", kMigratedSchema,
                      " is an earlier tcc's; to carry the records over: ", "tcc-tune migrate ",
                      *schema.location().file));
    schema.fail(str("only schema ", schema_, " can be read"));
  }

  void read_environments(const yaml::Item& document) {
    if (!document.has("environments")) return;
    yaml::Item all = document.at("environments");
    auto entries = all.map();
    if (entries.size() > kMaxEnvironments)
      all.fail(str("has more than ", kMaxEnvironments, " entries"));
    for (const auto& [name, item] : entries) {
      try {
        environments_[name] = read_environment(item);
      } catch (const Error& error) {
        warn_(str(error.what(), "; records of environment '", name, "' are skipped"));
      }
    }
  }

  void add(const yaml::Item& item) {
    Record record = read_record(item);
    if (!seen_.insert(record.key).second)
      warn_(str(ir::to_string(item.location()),
                ": a second record of this kernel; the preferred one is used"));
    store_.add(std::move(record));
  }

  Record read_record(const yaml::Item& item) const {
    item.allow_keys({"name", "operands", "region", "version", "family", "extents", "space",
                     "environment", "date", "policy", "best", "default", "runners_up"});
    Record record;
    record.key = {template_, static_cast<int>(integer_in(item.at("version"), 0, 1000000)),
                  hash_digits(item.at("region")), device_};
    record.name = short_text(item, "name");
    record.operands = short_text(item, "operands");
    if (item.has("family")) record.family = hash_digits(item.at("family"));
    if (item.has("extents")) read_extents(item.at("extents"), record);
    if (item.has("environment")) {
      yaml::Item reference = item.at("environment");
      auto found = environments_.find(reference.text());
      if (found == environments_.end())
        reference.fail("no such entry in 'environments' that can be read");
      record.environment = found->second.environment;
      record.tcc = found->second.tcc;
    }
    record.environment.space = short_text(item, "space");
    record.date = date_text(item);
    record.policy = short_text(item, "policy");
    read_best(item.at("best"), record);
    if (item.has("default"))
      record.default_seconds = number_in(item.at("default"), 0, kMaxRecordSeconds);
    if (item.has("runners_up")) read_runners_up(item.at("runners_up"), record);
    return record;
  }

  static void read_extents(const yaml::Item& item, Record& record) {
    std::vector<yaml::Item> values = item.list();
    if (values.size() > kMaxExtents) item.fail(str("has more than ", kMaxExtents, " entries"));
    for (const yaml::Item& value : values)
      record.extents.push_back(integer_in(value, 0, kMaxExtent));
  }

  static void read_runners_up(const yaml::Item& item, Record& record) {
    std::vector<yaml::Item> values = item.list();
    if (values.size() > kMaxRunnersUp) item.fail(str("has more than ", kMaxRunnersUp, " entries"));
    for (const yaml::Item& value : values) record.runners_up.push_back(read_runner_up(value));
  }

  RecordStore& store_;
  const Warn& warn_;
  const int schema_;
  std::string device_, template_;
  std::map<std::string, Surroundings> environments_;
  std::set<RecordKey> seen_;  // of this file
};

}  // namespace

void read_record_text(std::string_view text, const std::string& file, RecordStore& store,
                      const Warn& warn, int schema) {
  try {
    RecordReader(store, warn, schema).read(yaml::parse_document(text, file));
  } catch (const Error& error) { warn(str(error.what(), "; file skipped")); }
}

std::vector<fs::path> record_files(const fs::path& path, const Warn& warn) {
  std::error_code error;
  if (is_plan_file(path)) return {};
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".yaml" && !is_plan_file(entry->path()) &&
        !entry->path().filename().string().starts_with("."))
      files.push_back(entry->path());
  if (error) warn(str(path.string(), ": ", error.message()));
  std::sort(files.begin(), files.end());
  if (files.size() > kMaxFiles) {
    warn(str(path.string(), ": only the first ", kMaxFiles, " files are read"));
    files.resize(kMaxFiles);
  }
  return files;
}

void read_record_path(const fs::path& path, RecordStore& store, const Warn& warn) {
  for_each_text(
      record_files(path, warn),
      [&](const std::string& text, const std::string& file) {
        read_record_text(text, file, store, warn);
      },
      warn);
}

}  // namespace tcc::autotune
