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

void write_optional(JsonWriter& out, std::string_view key, const std::optional<double>& value) {
  if (value) out.member(key, *value);
}

void write_samples(JsonWriter& out, std::string_view key, const std::vector<double>& samples) {
  if (samples.empty()) return;
  out.key(key).begin_array();
  for (const double sample : samples) out.value(sample);
  out.end_array();
}

void write_quantity(JsonWriter& out, const Quantity& quantity) {
  out.begin_object().member("name", quantity.name).member("unit", quantity.unit);
  write_optional(out, "base", quantity.base);
  write_optional(out, "head", quantity.head);
  write_samples(out, "base_samples", quantity.base_samples);
  write_samples(out, "head_samples", quantity.head_samples);
  if (quantity.effect)
    out.key("effect")
        .begin_object()
        .member("ratio", quantity.effect->ratio)
        .member("low", quantity.effect->low)
        .member("high", quantity.effect->high)
        .member("deviation", quantity.effect->deviation)
        .member("blocks", quantity.effect->blocks)
        .end_object();
  write_optional(out, "p", quantity.p);
  write_optional(out, "visible", quantity.visible);
  write_optional(out, "budget", quantity.budget);
  out.member("over_budget", quantity.over_budget)
      .member("gates", quantity.gates)
      .member("verdict", name(quantity.verdict))
      .member("reason", quantity.reason)
      .end_object();
}

void write_kernels(JsonWriter& out, std::string_view key,
                   const std::vector<TrackedKernel>& kernels) {
  out.key(key).begin_array();
  for (const TrackedKernel& kernel : kernels) {
    out.begin_object().member("region", kernel.region).key("layers").begin_array();
    for (const std::string& layer : kernel.layers) out.value(layer);
    out.end_array()
        .member("template", kernel.kernel_template)
        .member("config", kernel.config)
        .member("tier", kernel.tier)
        .member("key", kernel.key)
        .member("source", kernel.source)
        .member("launches", kernel.launches);
    write_optional(out, "seconds", kernel.seconds);
    write_optional(out, "low", kernel.low);
    write_optional(out, "high", kernel.high);
    out.member("bytes", kernel.bytes).member("flops", kernel.flops);
    write_optional(out, "roofline", kernel.roofline);
    out.end_object();
  }
  out.end_array();
}

void write_history(JsonWriter& out, const TrackedHistory& history, const Runs& runs) {
  out.begin_object().member("quantity", history.quantity).member("unit", history.unit);
  out.key("points").begin_array();
  for (const Point& point : history.points)
    out.begin_array()
        .value(runs.number(point))
        .value(point.value)
        .value(point.low)
        .value(point.high)
        .end_array();
  out.end_array().key("changes").begin_array();
  for (const track::Change& change : history.changes)
    out.begin_object()
        .member("kind", change.kind == track::Change::Kind::step ? "step" : "drift")
        .member("first", change.first)
        .member("last", change.last)
        .member("ratio", change.ratio)
        .end_object();
  out.end_array();
  if (!history.breaks.empty()) {
    out.key("breaks").begin_array();
    for (const TrackedHistory::Break& one : history.breaks)
      out.begin_object().member("point", one.point).member("why", one.why).end_object();
    out.end_array();
  }
  out.end_object();
}

void write_case(JsonWriter& out, const ReportedCase& one, const Runs& runs) {
  out.begin_object()
      .member("name", one.name)
      .member("file", one.file)
      .member("line", std::max(one.line, 0));
  out.key("quantities").begin_array();
  for (const Quantity& quantity : one.quantities) write_quantity(out, quantity);
  out.end_array();
  write_kernels(out, "base_kernels", one.base_kernels);
  write_kernels(out, "head_kernels", one.head_kernels);
  out.key("histories").begin_array();
  for (const TrackedHistory& history : one.histories) write_history(out, history, runs);
  out.end_array().end_object();
}

void write_side(JsonWriter& out, std::string_view key, const TrackReport::Side& side) {
  out.key(key)
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
  JsonWriter out(style);
  out.begin_object().member("tcc_track", kTrackReportSchema).member("kind", "report");
  out.member("command", report.command).member("date", report.date);
  out.member("version", report.version).member("commit", report.commit);
  out.member("device", report.device).member("description", report.description);
  out.member("driver", report.driver).member("target", report.target);
  write_side(out, "base", report.base);
  write_side(out, "head", report.head);
  out.member("false_alarms", report.false_alarms).member("smallest", report.smallest);
  out.member("power", report.power).member("seconds", report.seconds);
  out.member("passes", report.passes());
  out.key("runs").begin_array();
  for (const Point* point : runs.order())
    out.begin_object()
        .member("run", point->run)
        .member("commit", point->commit)
        .member("date", point->date)
        .end_object();
  out.end_array().key("cases").begin_array();
  for (const ReportedCase& one : report.cases) write_case(out, one, runs);
  out.end_array().key("notes").begin_array();
  for (const std::string& note : report.notes) out.value(note);
  out.end_array().end_object();
  return without_tags(out.text());
}

std::string reports_json(std::span<const TrackReport> reports, JsonWriter::Style style) {
  std::string text = "[";
  for (const TrackReport& report : reports)
    text += (text.size() > 1 ? "," : "") + report_json(report, style);
  return text + "]";
}

}  // namespace tcc::tools
