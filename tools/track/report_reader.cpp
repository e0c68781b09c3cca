#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/file.h"
#include "tools/track/report_json.h"

namespace tcc::tools {
namespace {

using Verdict = Quantity::Verdict;
using Json = nlohmann::json;

constexpr int64_t kMaxBytes = int64_t{128} << 20;
constexpr int kMaxDepth = 16;
constexpr size_t kMaxItems = 100'000;           // of a list
constexpr size_t kMaxText = size_t{1} << 16;    // bytes
constexpr double kMaxCount = 9007199254740992;  // 2^53

// A value and the way to it, which is put into words where the value is refused.
class Node {
 public:
  Node(const Json& value, const std::string& file) : value_(value), file_(file) {}

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    const std::string place = path();
    fail_input(file_, ": ", place.empty() ? "the document" : place, ": ", parts...);
  }

  // Fails where this is no object, lacks a member that is needed or has one that is not known.
  void check_members(std::initializer_list<std::string_view> needed,
                     std::initializer_list<std::string_view> optional = {}) const {
    if (!value_.is_object()) fail("must be an object");
    for (const std::string_view key : needed)
      if (!value_.contains(key)) fail("lacks \"", key, "\"");
    const auto lists = [](std::initializer_list<std::string_view> keys, const std::string& key) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    for (const auto& [key, ignored] : value_.items())
      if (!lists(needed, key) && !lists(optional, key)) fail("has an unknown member \"", key, "\"");
  }

  Node operator[](std::string_view key) const { return {value_.at(key), *this, key, 0}; }
  Node at(size_t index) const { return {value_.at(index), *this, {}, index}; }
  bool is_object() const { return value_.is_object(); }
  bool has(std::string_view key) const { return value_.contains(key); }
  size_t size() const {
    if (!value_.is_array()) fail("must be a list");
    if (value_.size() > kMaxItems) fail("has more than ", kMaxItems, " items");
    return value_.size();
  }

  std::string text() const {
    if (!value_.is_string()) fail("must be a text");
    const auto& text = value_.get_ref<const std::string&>();
    if (text.size() > kMaxText) fail("is longer than ", kMaxText, " bytes");
    return text;
  }
  bool flag() const {
    if (!value_.is_boolean()) fail("must be true or false");
    return value_.get<bool>();
  }
  double number() const {
    if (!value_.is_number()) fail("must be a number");
    return value_.get<double>();
  }
  // JSON lacks NaN and infinities.
  double number_or(double of_null) const { return value_.is_null() ? of_null : number(); }
  template <class T>
  T count(double most = kMaxCount) const {
    if (!value_.is_number_integer()) fail("must be a whole number");
    const double number = value_.get<double>();
    if (number < 0 || number > std::min(most, static_cast<double>(std::numeric_limits<T>::max())))
      fail("is out of range");
    return value_.get<T>();
  }

  template <class T>
  std::vector<T> list(const std::function<T(const Node&)>& read) const {
    std::vector<T> items;
    const size_t count = size();
    items.reserve(count);
    for (size_t i = 0; i < count; ++i) items.push_back(read(at(i)));
    return items;
  }

 private:
  Node(const Json& value, const Node& parent, std::string_view key, size_t index)
      : value_(value), file_(parent.file_), parent_(&parent), key_(key), index_(index) {}
  std::string path() const {
    if (!parent_) return "";
    const std::string before = parent_->path();
    if (key_.empty()) return str(before, "[", index_, "]");
    return before.empty() ? std::string(key_) : str(before, ".", key_);
  }

  const Json& value_;
  const std::string& file_;
  const Node* parent_ = nullptr;
  std::string_view key_;
  size_t index_ = 0;
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<double> optional_number(const Node& node, std::string_view key) {
  if (!node.has(key)) return std::nullopt;
  return node[key].number_or(kNan);
}

std::string read_text(const Node& node) { return node.text(); }
double read_sample(const Node& node) { return node.number_or(kNan); }

track::Effect read_effect(const Node& node) {
  node.check_members({"ratio", "low", "high", "deviation", "blocks"});
  track::Effect effect;
  effect.ratio = node["ratio"].number_or(kNan);
  effect.low = node["low"].number_or(kNan);
  effect.high = node["high"].number_or(kInfinity);
  effect.deviation = node["deviation"].number_or(kNan);
  effect.blocks = node["blocks"].count<size_t>();
  return effect;
}

Quantity::Verdict read_verdict(const Node& node) {
  const std::string word = node.text();
  for (const Verdict verdict : {Verdict::same, Verdict::better, Verdict::worse,
                                Verdict::unmeasurable, Verdict::failed, Verdict::not_judged})
    if (word == name(verdict)) return verdict;
  node.fail("must be same, better, worse, unmeasurable, failed or not judged");
}

Quantity read_quantity(const Node& node) {
  node.check_members(
      {"name", "unit", "over_budget", "gates", "verdict", "reason"},
      {"base", "head", "base_samples", "head_samples", "effect", "p", "visible", "budget"});
  Quantity quantity;
  quantity.name = node["name"].text();
  quantity.unit = node["unit"].text();
  quantity.base = optional_number(node, "base");
  quantity.head = optional_number(node, "head");
  if (node.has("base_samples"))
    quantity.base_samples = node["base_samples"].list<double>(read_sample);
  if (node.has("head_samples"))
    quantity.head_samples = node["head_samples"].list<double>(read_sample);
  if (node.has("effect")) quantity.effect = read_effect(node["effect"]);
  quantity.p = optional_number(node, "p");
  quantity.visible = optional_number(node, "visible");
  quantity.budget = optional_number(node, "budget");
  quantity.over_budget = node["over_budget"].flag();
  quantity.gates = node["gates"].flag();
  quantity.verdict = read_verdict(node["verdict"]);
  quantity.reason = node["reason"].text();
  return quantity;
}

TrackedKernel read_kernel(const Node& node) {
  node.check_members({"region", "layers", "template", "config", "tier", "key", "source", "launches",
                      "bytes", "flops"},
                     {"seconds", "low", "high", "roofline"});
  TrackedKernel kernel;
  kernel.region = node["region"].text();
  kernel.layers = node["layers"].list<std::string>(read_text);
  kernel.kernel_template = node["template"].text();
  kernel.config = node["config"].text();
  kernel.tier = node["tier"].text();
  kernel.key = node["key"].text();
  kernel.source = node["source"].text();
  kernel.launches = node["launches"].count<int64_t>();
  kernel.seconds = optional_number(node, "seconds");
  kernel.low = optional_number(node, "low");
  kernel.high = optional_number(node, "high");
  kernel.bytes = node["bytes"].number_or(kNan);
  kernel.flops = node["flops"].number_or(kNan);
  kernel.roofline = optional_number(node, "roofline");
  return kernel;
}

using RunPoints = std::vector<TrackedHistory::Point>;  // without values

TrackedHistory::Point read_run(const Node& node) {
  node.check_members({"run", "commit", "date"});
  TrackedHistory::Point run;
  run.run = node["run"].text();
  run.commit = node["commit"].text();
  run.date = node["date"].text();
  return run;
}

TrackedHistory::Point read_point(const Node& node, const RunPoints& runs) {
  if (node.size() != 4) node.fail("must be [run, value, low, high]");
  const auto run = node.at(0).count<size_t>();
  if (run >= runs.size()) node.at(0).fail("there is no run ", run);
  TrackedHistory::Point point = runs[run];
  point.value = node.at(1).number_or(kNan);
  point.low = node.at(2).number_or(kNan);
  point.high = node.at(3).number_or(kInfinity);
  return point;
}

track::Change read_change(const Node& node, size_t points) {
  node.check_members({"kind", "first", "last", "ratio"});
  const std::string kind = node["kind"].text();
  if (kind != "step" && kind != "drift") node["kind"].fail("must be step or drift");
  track::Change change;
  change.kind = kind == "step" ? track::Change::Kind::step : track::Change::Kind::drift;
  change.first = node["first"].count<size_t>();
  change.last = node["last"].count<size_t>();
  if (change.first > change.last || change.last >= points)
    node.fail("must lie within the ", points, " points");
  change.ratio = node["ratio"].number_or(kNan);
  return change;
}

TrackedHistory::Break read_break(const Node& node, size_t points) {
  node.check_members({"point", "why"});
  const TrackedHistory::Break one{node["point"].count<size_t>(), node["why"].text()};
  if (one.point == 0 || one.point >= points) node.fail("must lie within the ", points, " points");
  return one;
}

TrackedHistory read_history(const Node& node, const RunPoints& runs) {
  node.check_members({"quantity", "unit", "points", "changes"}, {"breaks"});
  TrackedHistory history;
  history.quantity = node["quantity"].text();
  history.unit = node["unit"].text();
  history.points = node["points"].list<TrackedHistory::Point>(
      [&](const Node& point) { return read_point(point, runs); });
  history.changes = node["changes"].list<track::Change>(
      [&](const Node& change) { return read_change(change, history.points.size()); });
  if (node.has("breaks"))
    history.breaks = node["breaks"].list<TrackedHistory::Break>(
        [&](const Node& one) { return read_break(one, history.points.size()); });
  return history;
}

ReportedCase read_case(const Node& node, const RunPoints& runs) {
  node.check_members(
      {"name", "file", "line", "quantities", "base_kernels", "head_kernels", "histories"});
  ReportedCase one;
  one.name = node["name"].text();
  one.file = node["file"].text();
  one.line = node["line"].count<int>();
  one.quantities = node["quantities"].list<Quantity>(read_quantity);
  one.base_kernels = node["base_kernels"].list<TrackedKernel>(read_kernel);
  one.head_kernels = node["head_kernels"].list<TrackedKernel>(read_kernel);
  one.histories = node["histories"].list<TrackedHistory>(
      [&](const Node& history) { return read_history(history, runs); });
  return one;
}

TrackReport::Side read_side(const Node& node) {
  node.check_members({"label", "version", "commit", "date"});
  return {node["label"].text(), node["version"].text(), node["commit"].text(), node["date"].text()};
}

TrackReport read_document(const Node& node) {
  if (!node.is_object() || !node.has("tcc_track"))
    node.fail("is no report of tcc-track: it lacks \"tcc_track\"");
  if (const auto schema = node["tcc_track"].count<int>(); schema != kTrackReportSchema)
    node["tcc_track"].fail("schema ", schema, " is not known, only ", kTrackReportSchema);
  node.check_members({"tcc_track", "kind",   "command",      "date",     "version",
                      "commit",    "device", "description",  "driver",   "target",
                      "base",      "head",   "false_alarms", "smallest", "power",
                      "seconds",   "passes", "runs",         "cases",    "notes"});
  if (node["kind"].text() != "report") node["kind"].fail("must be report");
  TrackReport report;
  report.command = node["command"].text();
  report.date = node["date"].text();
  report.version = node["version"].text();
  report.commit = node["commit"].text();
  report.device = node["device"].text();
  report.description = node["description"].text();
  report.driver = node["driver"].text();
  report.target = node["target"].text();
  report.base = read_side(node["base"]);
  report.head = read_side(node["head"]);
  report.false_alarms = node["false_alarms"].number();
  report.smallest = node["smallest"].number();
  report.power = node["power"].number();
  report.seconds = node["seconds"].number();
  const RunPoints runs = node["runs"].list<TrackedHistory::Point>(read_run);
  report.cases =
      node["cases"].list<ReportedCase>([&](const Node& one) { return read_case(one, runs); });
  report.notes = node["notes"].list<std::string>(read_text);
  if (node["passes"].flag() != report.passes())
    node["passes"].fail("does not follow from the cases");
  return report;
}

Json parse(std::string_view text, const std::string& name) {
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxDepth) fail_input(name, ": is nested more than ", kMaxDepth, " deep");
      return true;
    });
  } catch (const Json::parse_error& error) {
    const size_t end = std::min(error.byte, text.size());
    fail_input(name, ":", 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(end), '\n'),
               ": is not JSON: ", error.what());
  } catch (const Json::exception& error) { fail_input(name, ": is not JSON: ", error.what()); }
}

}  // namespace

TrackReport parse_report(std::string_view text, const std::string& name) {
  const Json document = parse(text, name);
  return read_document(Node(document, name));
}

std::vector<TrackReport> parse_reports(std::string_view text, const std::string& name) {
  const Json document = parse(text, name);
  const Node node(document, name);
  if (document.is_array()) return node.list<TrackReport>(read_document);
  return {read_document(node)};
}

std::vector<TrackReport> read_reports(const std::filesystem::path& file) {
  return parse_reports(read_file(file, kMaxBytes), file.string());
}

}  // namespace tcc::tools
