// Writing tuning files: one fact per line, sorted, so that they diff and merge as text does.
#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <tuple>

#include "autotune/record_fields.h"
#include "autotune/record_file.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::autotune {
namespace {

std::string map_text(const auto& entries) {
  std::string text;
  for (const auto& [name, value] : entries)
    text += (text.empty() ? "" : ", ") + name + ": " + std::to_string(value);
  return "{" + text + "}";
}

std::string list_text(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

std::string interval(double low, double high) {
  return high > 0 ? ", interval: [" + number_field(low) + ", " + number_field(high) + "]" : "";
}

std::string environment_text(const Record& record) {
  const Environment& e = record.environment;
  return str("    vendor: ", quoted_field(e.vendor), "\n    device: ", quoted_field(e.device),
             "\n    capabilities: ", map_text(e.capabilities),
             "\n    driver: ", quoted_field(e.driver), "\n    compiler: ", quoted_field(e.compiler),
             "\n    tcc: ", quoted_field(record.tcc), "\n");
}

// A name that follows from the content: the same in every file, whatever is merged with it.
std::string digits_of(const std::string& environment) {
  return hash_of(environment).hex().substr(0, 16);
}

std::string record_text(const Record& record) {
  std::ostringstream out;
  out << "  - name: " << quoted_field(record.name)
      << "\n    operands: " << quoted_field(record.operands) << "\n    region: \""
      << record.key.region << "\"\n    version: " << record.key.version;
  if (!record.family.empty())
    out << "\n    family: \"" << record.family << "\"\n    extents: " << list_text(record.extents);
  out << "\n    space: " << quoted_field(record.environment.space) << "\n    environment: \""
      << digits_of(environment_text(record)) << "\"\n    date: " << quoted_field(record.date)
      << "\n    policy: " << quoted_field(record.policy)
      << "\n    best: {config: " << map_text(record.best.values())
      << ", median: " << number_field(record.seconds) << interval(record.low, record.high)
      << ", samples: " << record.samples << ", error: " << number_field(record.error)
      << "}\n    default: " << number_field(record.default_seconds) << "\n";
  if (record.runners_up.empty()) return out.str();
  out << "    runners_up:\n";
  for (size_t i = 0; i < std::min(record.runners_up.size(), kMaxRunnersUp); ++i) {
    const RunnerUp& runner = record.runners_up[i];
    out << "      - {config: " << map_text(runner.config.values())
        << ", median: " << number_field(runner.seconds) << interval(runner.low, runner.high)
        << "}\n";
  }
  return out.str();
}

}  // namespace

std::string record_file_text(std::span<const Record* const> records) {
  TCC_CHECK(!records.empty(), "a tuning file has records");
  std::vector<const Record*> sorted(records.begin(), records.end());
  // Records are compared as they are written, so that a file that is read and written again keeps
  // its order.
  auto place = [](const Record* r) {
    return std::tuple(quoted_field(r->name), quoted_field(r->operands), r->key);
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const Record* a, const Record* b) { return place(a) < place(b); });
  std::map<std::string, std::string> environments;
  for (const Record* record : sorted) {
    std::string text = environment_text(*record);
    environments.emplace(digits_of(text), text);
  }
  const RecordKey& key = sorted.front()->key;
  std::ostringstream out;
  out << "# Best configs of the kernel template '" << key.kernel_template
      << "', found by tcc-tune. Sorted by name,\n"
         "# operands and region; times are seconds. docs/tuning.md explains the rest.\n"
      << "tcc_tuning: " << kRecordSchema << "\ntarget: " << quoted_field(key.device)
      << "\ntemplate: " << quoted_field(key.kernel_template) << "\nenvironments:\n";
  for (const auto& [digits, text] : environments) out << "  \"" << digits << "\":\n" << text;
  out << "records:\n";
  for (const Record* record : sorted) out << record_text(*record);
  return out.str();
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
