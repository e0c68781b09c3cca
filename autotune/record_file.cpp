#include "autotune/record_file.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>
#include <sstream>
#include <tuple>

#include "frontend/yaml/document.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;
using Warn = std::function<void(const std::string&)>;

constexpr int kSchema = 1;
constexpr int64_t kMaxFileBytes = int64_t{16} << 20;
constexpr size_t kMaxFiles = 4096;  // of one folder
constexpr size_t kMaxRecords = 20000;
constexpr size_t kMaxParameters = 32;
constexpr size_t kMaxText = 1024;
constexpr int64_t kMaxValue = int64_t{1} << 40;

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

// Control characters, which the reader refuses, become '?'.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text.substr(0, kMaxText)) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string config_text(const sched::Config& config) {
  std::string text;
  for (const auto& [name, value] : config.values())
    text += (text.empty() ? "" : ", ") + name + ": " + std::to_string(value);
  return "{" + text + "}";
}

std::string word(const yaml::Item& item) {
  std::string text = item.text();
  if (!is_word(text)) item.fail("must be a word of letters, digits and _, at most 64");
  return text;
}

std::string short_text(const yaml::Item& map, std::string_view key) {
  if (!map.has(key)) return "";
  yaml::Item item = map.at(key);
  std::string text = item.text();
  if (text.size() > kMaxText) item.fail(str("longer than ", kMaxText, " characters"));
  return text;
}

int64_t integer_in(const yaml::Item& item, int64_t low, int64_t high) {
  int64_t value = item.integer();
  if (value < low || value > high) item.fail(str(value, " is not in [", low, ", ", high, "]"));
  return value;
}

// A finite number in [low, high].
double number_in(const yaml::Item& item, double low, double high) {
  double value = item.number();
  if (!(value >= low && value <= high)) item.fail(str(value, " is not in [", low, ", ", high, "]"));
  return value;
}

std::string hash_digits(const yaml::Item& item) {
  std::string text = item.text();
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    item.fail("must be 32 hexadecimal digits");
  return text;
}

sched::Config read_config(const yaml::Item& item) {
  sched::Config config;
  auto entries = item.map();
  if (entries.empty() || entries.size() > kMaxParameters)
    item.fail(str("must have 1 to ", kMaxParameters, " parameters"));
  for (const auto& [name, value] : entries) {
    if (!is_word(name)) value.fail("is no parameter's name");
    config.set(name, integer_in(value, -kMaxValue, kMaxValue));
  }
  return config;
}

Record read_record(const yaml::Item& entry, const std::string& device,
                   const std::string& kernel_template) {
  Record record;
  record.key = {kernel_template, static_cast<int>(integer_in(entry.at("version"), 0, 1000000)),
                hash_digits(entry.at("key")), device};
  record.name = short_text(entry, "name");
  record.operands = short_text(entry, "operands");
  record.environment = {short_text(entry, "measured_on"), short_text(entry, "driver"),
                        short_text(entry, "compiler"), short_text(entry, "space")};
  record.best = read_config(entry.at("config"));
  record.seconds = number_in(entry.at("seconds"), 1e-12, 1e6);
  if (entry.has("default_seconds"))
    record.default_seconds = number_in(entry.at("default_seconds"), 0, 1e6);
  if (entry.has("samples")) record.samples = integer_in(entry.at("samples"), 0, 1000000000);
  if (entry.has("error")) record.error = number_in(entry.at("error"), 0, 1);
  return record;
}

}  // namespace

std::string record_file_text(std::span<const Record* const> records) {
  TCC_CHECK(!records.empty(), "a tuning file has records");
  std::vector<const Record*> sorted(records.begin(), records.end());
  std::sort(sorted.begin(), sorted.end(), [](const Record* a, const Record* b) {
    return std::tie(a->name, a->operands, a->key) < std::tie(b->name, b->operands, b->key);
  });
  std::set<std::string> devices;
  for (const Record* record : sorted) devices.insert(quoted(record->environment.device));

  const RecordKey& key = sorted.front()->key;
  std::ostringstream out;
  out << "# Best configs of the kernel template \"" << key.kernel_template
      << "\", found by tcc-tune"
      << " on\n";
  for (const std::string& device : devices) out << "#   " << device << "\n";
  out << "# Sorted by name, operands and key. Times are seconds; docs/tuning.md explains the "
         "rest.\n"
      << "tcc_tuning: " << kSchema << "\ndevice: " << quoted(key.device)
      << "\ntemplate: " << key.kernel_template << "\nrecords:\n";
  for (const Record* record : sorted) {
    const Environment& environment = record->environment;
    out << "  - name: " << quoted(record->name) << "\n    operands: " << quoted(record->operands)
        << "\n    key: \"" << record->key.region << "\"\n    version: " << record->key.version
        << "\n    config: " << config_text(record->best)
        << "\n    seconds: " << number(record->seconds)
        << "\n    default_seconds: " << number(record->default_seconds)
        << "\n    samples: " << record->samples << "\n    error: " << number(record->error)
        << "\n    measured_on: " << quoted(environment.device)
        << "\n    driver: " << quoted(environment.driver)
        << "\n    compiler: " << quoted(environment.compiler)
        << "\n    space: " << quoted(environment.space) << "\n";
  }
  return out.str();
}

void read_record_text(std::string_view text, const std::string& file, RecordStore& store,
                      const Warn& warn) {
  try {
    yaml::Item document = yaml::parse_document(text, file);
    if (!document.is_map() || !document.has("tcc_tuning")) document.fail("no tuning file");
    yaml::Item schema = document.at("tcc_tuning");
    if (schema.integer() != kSchema) schema.fail(str("only schema ", kSchema, " is known"));
    std::string device = short_text(document, "device");
    std::string kernel_template = word(document.at("template"));
    std::vector<yaml::Item> records = document.at("records").list();
    if (records.size() > kMaxRecords)
      document.at("records").fail(str("more than ", kMaxRecords, " records"));
    for (const yaml::Item& entry : records) {
      try {
        store.add(read_record(entry, device, kernel_template));
      } catch (const Error& error) { warn(str(error.what(), "; record skipped")); }
    }
  } catch (const Error& error) { warn(str(error.what(), "; file skipped")); }
}

void read_record_path(const fs::path& path, RecordStore& store, const Warn& warn) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().extension() == ".yaml") files.push_back(entry->path());
    if (error) warn(str(path.string(), ": ", error.message()));
    std::sort(files.begin(), files.end());
    if (files.size() > kMaxFiles) {
      warn(str(path.string(), ": only the first ", kMaxFiles, " files are read"));
      files.resize(kMaxFiles);
    }
  } else {
    files.push_back(path);
  }
  for (const fs::path& file : files) {
    std::string text;
    try {
      text = read_file(file, kMaxFileBytes);
    } catch (const Error& reason) {
      warn(str(reason.what(), "; file skipped"));
      continue;
    }
    read_record_text(text, file.string(), store, warn);
  }
}

std::string record_file_name(const std::string& device, const std::string& kernel_template) {
  std::string name = device.substr(0, 100) + "." + kernel_template.substr(0, 64) + ".yaml";
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-';
      },
      '-');
  return name;
}

}  // namespace tcc::autotune
