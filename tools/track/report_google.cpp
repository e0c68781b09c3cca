#include "tools/track/report_google.h"

#include <cmath>
#include <set>

#include "support/error.h"
#include "support/json_writer.h"

namespace tcc::tools {
namespace {

std::optional<double> value(const Quantity& quantity, ReportSide side) {
  const std::optional<double>& value = side == ReportSide::base ? quantity.base : quantity.head;
  return value && std::isfinite(*value) ? value : std::nullopt;
}

void write_context(JsonWriter& json, const TrackReport& report, ReportSide side) {
  const TrackReport::Side& of = side == ReportSide::base ? report.base : report.head;
  json.key("context").begin_object();
  json.member("date", report.date).member("executable", of.label);
  json.key("caches").begin_array().end_array();
  json.key("load_avg").begin_array().end_array();
  json.member("library_build_type", "release").member("json_schema_version", 1);
  json.member("device", report.description.empty() ? report.device : report.description);
  json.member("driver", report.driver).member("target", report.target);
  json.member("commit", of.commit).member("version", of.version);
  json.end_object();
}

// Members of a benchmark that are no counter.
const std::set<std::string_view> kMembers = {"name",
                                             "run_name",
                                             "run_type",
                                             "repetitions",
                                             "repetition_index",
                                             "threads",
                                             "label",
                                             "iterations",
                                             "real_time",
                                             "cpu_time",
                                             "time_unit",
                                             "family_index",
                                             "per_family_instance_index",
                                             "error_occurred",
                                             "error_message"};

void write_counters(JsonWriter& json, const ReportedCase& one, ReportSide side) {
  std::set<std::string> written;
  for (const Quantity& quantity : one.quantities)
    if (const auto count = value(quantity, side); count && quantity.unit != "s")
      if (!kMembers.contains(quantity.name) && written.insert(quantity.name).second)
        json.member(quantity.name, *count);
}

// A device has one time, which stands for both.
void write_benchmark(JsonWriter& json, const std::string& name, const Quantity& quantity,
                     ReportSide side) {
  const double nanoseconds = *value(quantity, side) * 1e9;
  const auto& samples = side == ReportSide::base ? quantity.base_samples : quantity.head_samples;
  json.member("name", name).member("run_name", name).member("run_type", "iteration");
  json.member("repetitions", 1).member("repetition_index", 0).member("threads", 1);
  json.member("iterations", samples.empty() ? size_t{1} : samples.size());
  json.member("real_time", nanoseconds).member("cpu_time", nanoseconds).member("time_unit", "ns");
}

void write_case(JsonWriter& json, const ReportedCase& one, ReportSide side) {
  bool first = true;
  for (const Quantity& quantity : one.quantities) {
    if (quantity.unit != "s" || !value(quantity, side)) continue;
    json.begin_object();
    write_benchmark(json, quantity.name == "time" ? one.name : one.name + "/" + quantity.name,
                    quantity, side);
    if (first) write_counters(json, one, side);
    json.end_object();
    first = false;
  }
}

}  // namespace

std::string report_google_benchmark(std::span<const TrackReport> reports, ReportSide side) {
  JsonWriter json(JsonWriter::Style::indented);
  json.begin_object();
  write_context(json, reports.empty() ? TrackReport{} : reports[0], side);
  json.key("benchmarks").begin_array();
  for (const TrackReport& report : reports)
    for (const ReportedCase& one : report.cases) write_case(json, one, side);
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace tcc::tools
