#include "tools/track/report_json.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tcc::tools {
namespace {

using Point = TrackedHistory::Point;

// The runs that histories speak of, each told once.
class Runs {
 public:
  explicit Runs(const TrackReport& report) {
    for (const ReportedCase& one : report.cases)
      for (const TrackedHistory& history : one.histories)
        for (const Point& point : history.points)
          if (numbers_.try_emplace(key(point), order_.size()).second) order_.push_back(&point);
  }
  size_t number(const Point& point) const { return numbers_.at(key(point)); }
  const std::vector<const Point*>& order() const { return order_; }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  static Key key(const Point& point) { return {point.run, point.commit, point.date}; }

  std::map<Key, size_t> numbers_;
  std::vector<const Point*> order_;
};

void write_optional(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  if (value) json.member(key, *value);
}

void write_samples(JsonWriter& json, std::string_view key, const std::vector<double>& samples) {
  if (samples.empty()) return;
  json.key(key).begin_array();
  for (const double sample : samples) json.value(sample);
  json.end_array();
}

void write_quantity(JsonWriter& json, const Quantity& quantity) {
  json.begin_object().member("name", quantity.name).member("unit", quantity.unit);
  write_optional(json, "base", quantity.base);
  write_optional(json, "head", quantity.head);
  write_samples(json, "base_samples", quantity.base_samples);
  write_samples(json, "head_samples", quantity.head_samples);
  if (quantity.effect)
    json.key("effect")
        .begin_object()
        .member("ratio", quantity.effect->ratio)
        .member("low", quantity.effect->low)
        .member("high", quantity.effect->high)
        .member("deviation", quantity.effect->deviation)
        .member("blocks", quantity.effect->blocks)
        .end_object();
  write_optional(json, "p", quantity.p);
  write_optional(json, "visible", quantity.visible);
  write_optional(json, "budget", quantity.budget);
  json.member("over_budget", quantity.over_budget)
      .member("gates", quantity.gates)
      .member("verdict", name(quantity.verdict))
      .member("reason", quantity.reason)
      .end_object();
}

void write_kernels(JsonWriter& json, std::string_view key,
                   const std::vector<TrackedKernel>& kernels) {
  json.key(key).begin_array();
  for (const TrackedKernel& kernel : kernels) {
    json.begin_object().member("region", kernel.region).key("layers").begin_array();
    for (const std::string& layer : kernel.layers) json.value(layer);
    json.end_array()
        .member("template", kernel.kernel_template)
        .member("config", kernel.config)
        .member("tier", kernel.tier)
        .member("key", kernel.key)
        .member("source", kernel.source)
        .member("launches", kernel.launches);
    write_optional(json, "seconds", kernel.seconds);
    write_optional(json, "low", kernel.low);
    write_optional(json, "high", kernel.high);
    json.member("bytes", kernel.bytes).member("flops", kernel.flops);
    write_optional(json, "roofline", kernel.roofline);
    json.end_object();
  }
  json.end_array();
}

void write_history(JsonWriter& json, const TrackedHistory& history, const Runs& runs) {
  json.begin_object().member("quantity", history.quantity).member("unit", history.unit);
  json.key("points").begin_array();
  for (const Point& point : history.points)
    json.begin_array()
        .value(runs.number(point))
        .value(point.value)
        .value(point.low)
        .value(point.high)
        .end_array();
  json.end_array().key("changes").begin_array();
  for (const track::Change& change : history.changes)
    json.begin_object()
        .member("kind", change.kind == track::Change::Kind::step ? "step" : "drift")
        .member("first", change.first)
        .member("last", change.last)
        .member("ratio", change.ratio)
        .end_object();
  json.end_array();
  if (!history.breaks.empty()) {
    json.key("breaks").begin_array();
    for (const TrackedHistory::Break& one : history.breaks)
      json.begin_object().member("point", one.point).member("why", one.why).end_object();
    json.end_array();
  }
  json.end_object();
}

void write_case(JsonWriter& json, const ReportedCase& one, const Runs& runs) {
  json.begin_object()
      .member("name", one.name)
      .member("file", one.file)
      .member("line", std::max(one.line, 0));
  json.key("quantities").begin_array();
  for (const Quantity& quantity : one.quantities) write_quantity(json, quantity);
  json.end_array();
  write_kernels(json, "base_kernels", one.base_kernels);
  write_kernels(json, "head_kernels", one.head_kernels);
  json.key("histories").begin_array();
  for (const TrackedHistory& history : one.histories) write_history(json, history, runs);
  json.end_array().end_object();
}

void write_side(JsonWriter& json, std::string_view key, const TrackReport::Side& side) {
  json.key(key)
      .begin_object()
      .member("label", side.label)
      .member("version", side.version)
      .member("commit", side.commit)
      .member("date", side.date)
      .end_object();
}

std::string without_tags(std::string text) {
  constexpr std::string_view kEscaped = "\\u003c";
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += kEscaped.size())
    text.replace(at, 1, kEscaped);
  return text;
}

}  // namespace

std::string report_json(const TrackReport& report, JsonWriter::Style style) {
  const Runs runs(report);
  JsonWriter json(style);
  json.begin_object().member("tcc_track", kTrackReportSchema).member("kind", "report");
  json.member("command", report.command).member("date", report.date);
  json.member("version", report.version).member("commit", report.commit);
  json.member("device", report.device).member("description", report.description);
  json.member("driver", report.driver).member("target", report.target);
  write_side(json, "base", report.base);
  write_side(json, "head", report.head);
  json.member("false_alarms", report.false_alarms).member("smallest", report.smallest);
  json.member("power", report.power).member("seconds", report.seconds);
  json.member("passes", report.passes());
  json.key("runs").begin_array();
  for (const Point* point : runs.order())
    json.begin_object()
        .member("run", point->run)
        .member("commit", point->commit)
        .member("date", point->date)
        .end_object();
  json.end_array().key("cases").begin_array();
  for (const ReportedCase& one : report.cases) write_case(json, one, runs);
  json.end_array().key("notes").begin_array();
  for (const std::string& note : report.notes) json.value(note);
  json.end_array().end_object();
  return without_tags(json.text());
}

std::string reports_json(std::span<const TrackReport> reports, JsonWriter::Style style) {
  std::string text = "[";
  for (const TrackReport& report : reports)
    text += (text.size() > 1 ? "," : "") + report_json(report, style);
  return text + "]";
}

}  // namespace tcc::tools
