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

void write_context(JsonWriter& out, const TrackReport& report, ReportSide side) {
  const TrackReport::Side& of = side == ReportSide::base ? report.base : report.head;
  out.key("context").begin_object();
  out.member("date", report.date).member("executable", of.label);
  out.key("caches").begin_array().end_array();
  out.key("load_avg").begin_array().end_array();
  out.member("library_build_type", "release").member("json_schema_version", 1);
  out.member("device", report.description.empty() ? report.device : report.description);
  out.member("driver", report.driver).member("target", report.target);
  out.member("commit", of.commit).member("version", of.version);
  out.end_object();
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

void write_counters(JsonWriter& out, const ReportedCase& one, ReportSide side) {
  std::set<std::string> written;
  for (const Quantity& quantity : one.quantities)
    if (const auto count = value(quantity, side); count && quantity.unit != "s")
      if (!kMembers.contains(quantity.name) && written.insert(quantity.name).second)
        out.member(quantity.name, *count);
}

// A device has one time, which stands for both.
void write_benchmark(JsonWriter& out, const std::string& name, const Quantity& quantity,
                     ReportSide side) {
  const double nanoseconds = *value(quantity, side) * 1e9;
  const auto& samples = side == ReportSide::base ? quantity.base_samples : quantity.head_samples;
  out.member("name", name).member("run_name", name).member("run_type", "iteration");
  out.member("repetitions", 1).member("repetition_index", 0).member("threads", 1);
  out.member("iterations", samples.empty() ? size_t{1} : samples.size());
  out.member("real_time", nanoseconds).member("cpu_time", nanoseconds).member("time_unit", "ns");
}

void write_case(JsonWriter& out, const ReportedCase& one, ReportSide side) {
  bool first = true;
  for (const Quantity& quantity : one.quantities) {
    if (quantity.unit != "s" || !value(quantity, side)) continue;
    out.begin_object();
    write_benchmark(out, quantity.name == "time" ? one.name : one.name + "/" + quantity.name,
                    quantity, side);
    if (first) write_counters(out, one, side);
    out.end_object();
    first = false;
  }
}

}  // namespace

std::string report_google_benchmark(std::span<const TrackReport> reports, ReportSide side) {
  JsonWriter out(JsonWriter::Style::indented);
  out.begin_object();
  write_context(out, reports.empty() ? TrackReport{} : reports[0], side);
  out.key("benchmarks").begin_array();
  for (const TrackReport& report : reports)
    for (const ReportedCase& one : report.cases) write_case(out, one, side);
  out.end_array().end_object();
  return out.text() + "\n";
}

}  // namespace tcc::tools
