#include "tools/track/run_record.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "support/error.h"
#include "support/json_writer.h"

namespace tcc::tools {
namespace {

constexpr size_t kMostRunName = 200;

void texts(JsonWriter& json, const char* key, const std::vector<std::string>& list) {
  json.key(key).begin_array();
  for (const std::string& text : list) json.value(text);
  json.end_array();
}

void text_or_null(JsonWriter& json, const char* key, const std::string& text) {
  json.key(key);
  if (text.empty())
    json.null();
  else
    json.value(text);
}

void clocks(JsonWriter& json, const char* key, const std::optional<autotune::Clocks>& clocks) {
  if (!clocks) return;
  json.key(key).begin_object().member("sm_mhz", clocks->sm_mhz);
  json.member("memory_mhz", clocks->memory_mhz).member("throttle", clocks->throttle);
  json.member("power_watts", clocks->power_watts).end_object();
}

void measured(JsonWriter& json, const Measured& value) {
  json.begin_object().member("value", value.value);
  if (value.low != value.value || value.high != value.value)
    json.member("low", value.low).member("high", value.high);
  if (!value.rule.empty()) json.member("rule", value.rule);
  json.end_object();
}

void kernel(JsonWriter& json, const TrackedKernel& one) {
  json.begin_object().member("region", one.region);
  texts(json, "layers", one.layers);
  json.member("template", one.kernel_template).member("config", one.config);
  json.member("tier", one.tier).member("key", one.key).member("source", one.source);
  json.member("launches", one.launches);
  const auto number = [&](const char* key, const std::optional<double>& value) {
    if (value) json.member(key, *value);
  };
  number("seconds", one.seconds);
  number("low", one.low);
  number("high", one.high);
  json.member("bytes", one.bytes).member("flops", one.flops);
  number("roofline", one.roofline);
  json.end_object();
}

// Characters that may stand in a file's name and are no separator of its parts.
std::string part(const std::string& text, size_t most) {
  std::string result;
  for (const char c : text)
    if (result.size() < most)
      result += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ? c : '_';
  return result.empty() || result.front() == '.' ? "_" + result : result;
}

}  // namespace

std::string_view name(TrackedCase::Status status) {
  switch (status) {
    case TrackedCase::Status::ok: return "ok";
    case TrackedCase::Status::failed: return "failed";
    case TrackedCase::Status::wrong: return "wrong";
  }
  return "";
}

bool is_dirty(const std::string& commit) { return commit.ends_with(kDirty); }

std::string short_commit(const std::string& commit) {
  constexpr size_t kDigits = 10;
  if (!is_dirty(commit)) return commit.substr(0, kDigits);
  return commit.substr(0, std::min(kDigits, commit.size() - kDirty.size())) + std::string(kDirty);
}

std::string TrackedRun::machine() const {
  std::string text = host;
  for (const std::string& more : {description, target})
    if (!more.empty()) text += ", " + more;
  return text;
}

std::string new_run_name(const TrackedRun& run) {
  std::string date;
  for (const char c : run.date)
    if (std::isalnum(static_cast<unsigned char>(c))) date += c;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string end;
  for (int i = 0; i < 8; ++i) end += kDigits[random() % 16];
  const std::string milliseconds = std::to_string(1000 + run.milliseconds % 1000).substr(1);
  std::string commit = run.commit.empty() ? "none" : part(run.commit.substr(0, 7), 7);
  if (is_dirty(run.commit)) commit += kDirty;
  return date + "." + milliseconds + "-" + commit + "-" + part(run.host, 64) + "-" + end;
}

bool is_run_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostRunName && name.front() != '.' &&
         name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
         });
}

std::string header_line(const TrackedRun& run) {
  JsonWriter json;
  json.begin_object().member("tcc_track_run", kRunSchema).member("date", run.date);
  json.member("host", run.host);
  text_or_null(json, "commit", run.commit);
  text_or_null(json, "commit_date", run.commit_date);
  json.key("tcc").begin_object().member("version", run.version);
  text_or_null(json, "commit", run.tcc_commit);
  json.end_object().key("device");
  if (run.description.empty() && run.target.empty()) {
    json.null();
  } else {
    json.begin_object().member("name", run.device).member("description", run.description);
    json.member("vendor", run.vendor).member("driver", run.driver);
    json.member("target", run.target).end_object();
  }
  text_or_null(json, "compiler", run.compiler);
  texts(json, "command", run.command);
  texts(json, "suites", run.suites);
  json.key("labels").begin_object();
  for (const auto& [key, value] : run.labels) json.member(key, value);
  json.end_object().member("cases", run.planned).end_object();
  return json.text() + "\n";
}

std::string case_lines(const TrackedCase& one) {
  JsonWriter json;
  json.begin_object().member("case", one.name).member("kind", one.kind);
  json.member("suite", one.file).member("line", one.line);
  if (!one.work.empty()) json.member("work", one.work);
  json.member("status", name(one.status));
  if (one.status != TrackedCase::Status::ok) json.member("reason", one.reason);
  json.member("from_cache", one.from_cache).key("quantities").begin_object();
  // JSON has no infinity; the error of a wrong result may be one.
  for (const auto& [name, value] : one.quantities)
    if (std::isfinite(value.value)) measured(json.key(name), value);
  json.end_object();
  if (!one.budget.empty()) {
    json.key("budget").begin_object();
    for (const auto& [name, value] : one.budget) json.member(name, value);
    json.end_object();
  }
  if (one.before || one.after) {
    json.key("clocks").begin_object();
    clocks(json, "before", one.before);
    clocks(json, "after", one.after);
    json.end_object();
  }
  json.end_object();
  std::string lines = json.text() + "\n";
  if (!one.samples.empty()) {
    JsonWriter samples;
    samples.begin_object().member("samples", one.name).key("blocks").begin_array();
    for (const std::vector<double>& block : one.samples) {
      samples.begin_array();
      for (const double value : block) samples.value(value);
      samples.end_array();
    }
    samples.end_array().end_object();
    lines += samples.text() + "\n";
  }
  if (!one.kernels.empty()) {
    JsonWriter kernels;
    kernels.begin_object().member("kernels", one.name).key("list").begin_array();
    for (const TrackedKernel& each : one.kernels) kernel(kernels, each);
    kernels.end_array().end_object();
    lines += kernels.text() + "\n";
  }
  return lines;
}

std::string acceptance_line(const Acceptance& accepted) {
  JsonWriter json;
  json.begin_object().member("accept", accepted.name);
  text_or_null(json, "quantity", accepted.quantity);
  json.member("from", accepted.from).member("note", accepted.note).end_object();
  return json.text() + "\n";
}

std::string end_line(const RunEnd& end) {
  JsonWriter json;
  json.begin_object().member("end", end.how).member("seconds", end.seconds).end_object();
  return json.text() + "\n";
}

std::vector<std::string> kernel_names(const std::vector<TrackedKernel>& kernels) {
  std::vector<std::string> names;
  std::map<std::string, int> uses;
  for (const TrackedKernel& kernel : kernels) {
    std::string name;
    for (const std::string& layer : kernel.layers) name += (name.empty() ? "" : ", ") + layer;
    if (name.empty()) name = kernel.region;
    const int use = ++uses[name];
    names.push_back(use == 1 ? name : str(name, " #", use));
  }
  return names;
}

}  // namespace tcc::tools
