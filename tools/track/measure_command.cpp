// Commands that print Google Benchmark's JSON: every execution is a block.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/compile/process.h"
#include "support/error.h"
#include "tcc/progress.hpp"
#include "tools/progress.h"
#include "tools/track/measure.h"

namespace tcc::tools {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostOutput = size_t{64} << 20;
constexpr size_t kMostBenchmarks = 10000;
constexpr size_t kMostEntryName = 1000;
constexpr size_t kMostWords = 300;  // of what the program said

double seconds_of(const std::string& unit) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  fail_device("time_unit '", unit.substr(0, 20), "' is none of ns, us, ms and s");
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// The last words, in one line.
std::string last_words(const std::string& text) {
  std::string words =
      text.size() > kMostWords ? "... " + text.substr(text.size() - kMostWords) : text;
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return printable(words);
}

// One benchmark over all executions.
struct Benchmark {
  std::vector<std::vector<double>> blocks;
  std::map<std::string, std::vector<double>> counters;
  std::string error;
};

class ReportedReader {
 public:
  explicit ReportedReader(const TrackCase& one) : case_(one) {}

  void add_execution(const std::string& output) {
    // A program may print other text before its JSON.
    const size_t begin = output.find('{');
    const Json root = begin == std::string::npos
                          ? Json(Json::value_t::discarded)
                          : Json::parse(output.begin() + static_cast<std::ptrdiff_t>(begin),
                                        output.end(), nullptr, false);
    if (!root.is_object() || !root.contains("benchmarks") || !root["benchmarks"].is_array())
      fail_device("printed no JSON of Google Benchmark (--benchmark_format=json)");
    std::map<std::string, Found> found;
    for (const Json& entry : root["benchmarks"]) {
      if (!entry.is_object()) fail_device("an entry of 'benchmarks' is no object");
      add_entry(entry, found);
    }
    for (auto& [name, one] : found) finish(all_[name], one);
    if (all_.size() > kMostBenchmarks) fail_device("more than ", kMostBenchmarks, " benchmarks");
  }

  std::vector<TrackedCase> records(size_t executions) const {
    std::vector<TrackedCase> records;
    for (const auto& [name, one] : all_) {
      TrackedCase& record = records.emplace_back(record_of(case_));
      record.name += "/" + name;
      if (!one.error.empty() || one.blocks.empty()) {
        record.status = TrackedCase::Status::failed;
        record.reason = one.error.empty() ? "it has no time" : one.error;
        continue;
      }
      if (one.blocks.size() < executions) {
        record.status = TrackedCase::Status::failed;
        record.reason = str("in ", one.blocks.size(), " of ", executions, " executions only");
        continue;
      }
      record.samples = one.blocks;
      record.quantities["time"] = summary_of(one.blocks);
      for (const auto& [counter, values] : one.counters) {
        Measured value = summary_of({values});
        value.low = *std::min_element(values.begin(), values.end());
        value.high = *std::max_element(values.begin(), values.end());
        value.rule = case_.counters.at(counter);
        record.quantities[counter] = value;
      }
    }
    return records;
  }

 private:
  // One benchmark in one execution.
  struct Found {
    std::vector<double> samples;  // of repetitions
    std::map<std::string, std::vector<double>> counters;
    // If a program prints aggregates only, the median counts, else the mean.
    std::optional<double> median, mean;
    std::map<std::string, double> median_counters;
    std::string error;
  };

  void add_entry(const Json& entry, std::map<std::string, Found>& all) const {
    std::string name = text_at(entry, "run_name");
    if (name.empty()) name = text_at(entry, "name");
    if (name.empty() || name.size() > kMostEntryName) fail_device("an entry has no name");
    Found& found = all[printable(name)];
    const auto flag = [&](const char* key) {
      return entry.contains(key) && entry[key].is_boolean() && entry[key].get<bool>();
    };
    if (flag("error_occurred") || flag("skipped")) {
      const char* key = flag("skipped") ? "skip_message" : "error_message";
      found.error = printable(text_at(entry, key));
      if (found.error.empty()) found.error = "the benchmark says that an error occurred";
      return;
    }
    const bool aggregate = text_at(entry, "run_type") == "aggregate";
    const std::string kind = text_at(entry, "aggregate_name");
    if (aggregate && kind != "median" && kind != "mean") return;
    const std::optional<double> seconds = time_of(entry);
    if (!seconds) {
      found.error = "its time is no positive number";
    } else if (!aggregate) {
      found.samples.push_back(*seconds);
    } else {
      (kind == "median" ? found.median : found.mean) = seconds;
    }
    for (const auto& [counter, rule] : case_.counters) {
      const auto value = entry.find(counter);
      if (value == entry.end() || !value->is_number()) continue;
      const auto number = value->get<double>();
      if (!std::isfinite(number)) continue;
      if (!aggregate)
        found.counters[counter].push_back(number);
      else if (kind == "median" || !found.median)
        found.median_counters[counter] = number;
    }
  }

  std::optional<double> time_of(const Json& entry) const {
    const auto time = entry.find(case_.cpu_time ? "cpu_time" : "real_time");
    if (time == entry.end() || !time->is_number()) return std::nullopt;
    const std::string unit = text_at(entry, "time_unit");
    const double seconds = time->get<double>() * seconds_of(unit.empty() ? "ns" : unit);
    return seconds > 0 && std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
  }

  static void finish(Benchmark& to, Found& from) {
    if (!from.error.empty()) to.error = from.error;
    if (from.samples.empty() && (from.median || from.mean)) {
      from.samples = {from.median ? *from.median : *from.mean};
      for (const auto& [counter, value] : from.median_counters) from.counters[counter] = {value};
    }
    if (!from.samples.empty()) to.blocks.push_back(std::move(from.samples));
    for (auto& [counter, values] : from.counters)
      to.counters[counter].insert(to.counters[counter].end(), values.begin(), values.end());
  }

  const TrackCase& case_;
  std::map<std::string, Benchmark> all_;
};

}  // namespace

std::vector<TrackedCase> measure_command(const TrackCase& one,
                                         const std::function<bool()>& cancelled) {
  ReportedReader reader(one);
  for (int i = 0; i < one.executions; ++i) {
    const backends::ProcessResult result = backends::run_process(
        one.command,
        {.timeout = std::chrono::milliseconds(static_cast<int64_t>(one.timeout * 1000)),
         .most_output = kMostOutput,
         .separate_errors = true,
         .folder = one.folder,
         .cancelled = cancelled});
    if (cancelled && cancelled()) throw Cancelled();
    const std::string words =
        result.errors.empty() ? "" : "; its last words: " + last_words(result.errors);
    if (result.timed_out) fail_device("took more than ", one.timeout, " s and was killed", words);
    if (result.exit_code != 0) {
      if (result.exit_code > 128)
        fail_device("was ended by signal ", result.exit_code - 128, words);
      fail_device("exited with ", result.exit_code, words);
    }
    if (result.cut) fail_device("printed more than ", kMostOutput >> 20, " MiB");
    try {
      reader.add_execution(result.output);
    } catch (const Error& error) { fail_device(error.what(), words); }
  }
  std::vector<TrackedCase> records = reader.records(static_cast<size_t>(one.executions));
  if (records.empty()) fail_device("printed no benchmark");
  return records;
}

}  // namespace tcc::tools
