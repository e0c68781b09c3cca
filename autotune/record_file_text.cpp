// Writing tuning files: one fact per line, sorted, so that they diff and merge as text does.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <sstream>
#include <tuple>

#include "autotune/record_file.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::autotune {
namespace {

// Control characters, which the reader refuses, become '?'.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text.substr(0, kMaxRecordText)) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + "\"";
}

// With a point: YAML 1.1 takes 1e-06 for text.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  std::string result = text;
  if (result.find('.') == std::string::npos)
    if (size_t e = result.find('e'); e != std::string::npos) result.insert(e, ".0");
  return result;
}

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
  return high > 0 ? ", interval: [" + number(low) + ", " + number(high) + "]" : "";
}

std::string environment_text(const Record& record) {
  const Environment& e = record.environment;
  return str("    vendor: ", quoted(e.vendor), "\n    device: ", quoted(e.device),
             "\n    capabilities: ", map_text(e.capabilities), "\n    driver: ", quoted(e.driver),
             "\n    compiler: ", quoted(e.compiler), "\n    tcc: ", quoted(record.tcc), "\n");
}

// A name that follows from the content: the same in every file, whatever is merged with it.
std::string digits_of(const std::string& environment) {
  return hash_of(environment).hex().substr(0, 16);
}

std::string record_text(const Record& record) {
  std::ostringstream out;
  out << "  - name: " << quoted(record.name) << "\n    operands: " << quoted(record.operands)
      << "\n    region: \"" << record.key.region << "\"\n    version: " << record.key.version;
  if (!record.family.empty())
    out << "\n    family: \"" << record.family << "\"\n    extents: " << list_text(record.extents);
  out << "\n    space: " << quoted(record.environment.space) << "\n    environment: \""
      << digits_of(environment_text(record)) << "\"\n    date: " << quoted(record.date)
      << "\n    policy: " << quoted(record.policy)
      << "\n    best: {config: " << map_text(record.best.values())
      << ", median: " << number(record.seconds) << interval(record.low, record.high)
      << ", samples: " << record.samples << ", error: " << number(record.error)
      << "}\n    default: " << number(record.default_seconds) << "\n";
  if (record.runners_up.empty()) return out.str();
  out << "    runners_up:\n";
  for (size_t i = 0; i < std::min(record.runners_up.size(), kMaxRunnersUp); ++i) {
    const RunnerUp& runner = record.runners_up[i];
    out << "      - {config: " << map_text(runner.config.values())
        << ", median: " << number(runner.seconds) << interval(runner.low, runner.high) << "}\n";
  }
  return out.str();
}

}  // namespace

std::string record_file_text(std::span<const Record* const> records) {
  TCC_CHECK(!records.empty(), "a tuning file has records");
  std::vector<const Record*> sorted(records.begin(), records.end());
  // As they are written: a file that was read and is written again keeps its order.
  auto place = [](const Record* r) {
    return std::tuple(quoted(r->name), quoted(r->operands), r->key);
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
      << "tcc_tuning: " << kRecordSchema << "\ntarget: " << quoted(key.device)
      << "\ntemplate: " << quoted(key.kernel_template) << "\nenvironments:\n";
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
