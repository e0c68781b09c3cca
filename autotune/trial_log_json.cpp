#include "autotune/trial_log_json.h"

#include <array>
#include <cmath>

#include "support/error.h"
#include "support/hash.h"

namespace tcc::autotune {
namespace {

using nlohmann::json;

constexpr int kTrialSchema = 1;
constexpr int kMaxDepth = 8;
constexpr size_t kMaxText = 4096;
constexpr size_t kMaxReason = 1000;  // written: a compiler's complaint can be long
constexpr size_t kMaxParameters = 32;
constexpr size_t kMaxValues = 4096;  // of one parameter
constexpr size_t kMaxSamples = 4096;
constexpr int64_t kMaxValue = int64_t{1} << 40;
constexpr double kMaxSeconds = 1e6;

constexpr std::array kStatuses = {Measurement::Status::measured, Measurement::Status::slow,
                                  Measurement::Status::wrong,    Measurement::Status::refused,
                                  Measurement::Status::hung,     Measurement::Status::crashed};

json config_json(const sched::Config& config) {
  json result = json::object();
  for (const auto& [name, value] : config.values()) result[name] = value;
  return result;
}

// ---- reading: every access says what is wrong

const json& member(const json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end()) fail_input("missing '", key, "'");
  return *found;
}

std::string text(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) fail_input("'", key, "' must be text");
  const auto& result = value.get_ref<const std::string&>();
  if (result.size() > kMaxText) fail_input("'", key, "' is longer than ", kMaxText, " characters");
  return result;
}

double number(const json& object, const char* key, double high = kMaxSeconds) {
  const json& value = member(object, key);
  double result = value.is_number() ? value.get<double>() : NAN;
  if (!(result >= 0 && result <= high)) fail_input("'", key, "' must be in [0, ", high, "]");
  return result;
}

int64_t integer(const json& value, const std::string& what) {
  // A number beyond int64 is parsed as unsigned or as floating point.
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<uint64_t>() > kMaxValue))
    fail_input("'", what, "' must be an integer of at most ", kMaxValue);
  auto result = value.get<int64_t>();
  if (result < -kMaxValue || result > kMaxValue)
    fail_input("'", what, "' must be an integer of at most ", kMaxValue);
  return result;
}

const json& object(const json& parent, const char* key) {
  const json& value = member(parent, key);
  if (!value.is_object()) fail_input("'", key, "' must be an object");
  return value;
}

const json& list(const json& parent, const char* key, size_t most) {
  const json& value = member(parent, key);
  if (!value.is_array()) fail_input("'", key, "' must be a list");
  if (value.size() > most) fail_input("'", key, "' has more than ", most, " entries");
  return value;
}

sched::Config config(const json& parent, const char* key) {
  const json& values = object(parent, key);
  if (values.empty() || values.size() > kMaxParameters)
    fail_input("'", key, "' must have 1 to ", kMaxParameters, " parameters");
  sched::Config result;
  for (const auto& [name, value] : values.items()) result.set(name, integer(value, name));
  return result;
}

sched::ConfigSpace space(const json& parent) {
  sched::ConfigSpace result;
  for (const json& item : list(parent, "space", kMaxParameters)) {
    if (!item.is_object()) fail_input("'space' must be a list of parameters");
    sched::Parameter parameter{text(item, "name"), {}, ""};
    for (const json& value : list(item, "values", kMaxValues))
      parameter.values.push_back(integer(value, parameter.name));
    result.parameters.push_back(std::move(parameter));
  }
  return result;
}

LoggedTask task(const json& line) {
  LoggedTask result;
  int64_t version = integer(member(line, "version"), "version");
  if (version < 0 || version > 1000000) fail_input("'version' must be in [0, 1000000]");
  result.key = {text(line, "template"), static_cast<int>(version), text(line, "region"),
                text(line, "target")};
  result.name = text(line, "name");
  result.operands = text(line, "operands");
  const json& environment = object(line, "environment");
  result.environment.device = text(environment, "device");
  result.environment.driver = text(environment, "driver");
  result.environment.compiler = text(environment, "compiler");
  result.environment.space = text(environment, "space");
  result.environment.vendor = text(environment, "vendor");
  const json& capabilities = object(environment, "capabilities");
  if (capabilities.size() > kMaxParameters) fail_input("too many 'capabilities'");
  for (const auto& [name, value] : capabilities.items())
    result.environment.capabilities[name] = integer(value, name);
  result.space = space(line);
  result.default_config = config(line, "default");
  result.bound_seconds = number(line, "bound");
  return result;
}

Measurement::Status status(const json& line) {
  std::string word = text(line, "status");
  for (Measurement::Status one : kStatuses)
    if (name(one) == word) return one;
  fail_input("'status' cannot be '", word, "'");
}

Effort effort(const json& line) {
  std::string word = text(line, "effort");
  if (word != "quick" && word != "full") fail_input("'effort' must be quick or full");
  return word == "quick" ? Effort::quick : Effort::full;
}

LoggedTrial trial(const json& line) {
  LoggedTrial result;
  result.config = config(line, "config");
  result.effort = effort(line);
  result.estimate = number(line, "estimate");
  result.compile_seconds = number(line, "compile");
  Measurement& measured = result.result;
  measured.status = status(line);
  // JSON has no infinity: a result without bounds was written as null.
  measured.error = member(line, "error").is_null() ? INFINITY : number(line, "error", 1e300);
  measured.reason = text(line, "reason");
  measured.seconds = number(line, "median");
  measured.low = number(line, "low");
  measured.high = number(line, "high");
  bool timed = measured.status == Measurement::Status::measured ||
               measured.status == Measurement::Status::slow;
  if (timed && measured.seconds <= 0) fail_input("'median' must be positive");
  for (const json& sample : list(line, "samples", kMaxSamples)) {
    double seconds = sample.is_number() ? sample.get<double>() : NAN;
    if (!(seconds > 0 && seconds <= kMaxSeconds)) fail_input("'samples' must be positive seconds");
    measured.samples.push_back(seconds);
  }
  const json& clocks = object(line, "clocks");
  measured.clocks = {number(clocks, "sm_mhz"), number(clocks, "memory_mhz"),
                     text(clocks, "throttle")};
  return result;
}

}  // namespace

std::string log_id(const RecordKey& key) {
  return Hasher{}
      .add(key.kernel_template)
      .add(key.version)
      .add(key.region)
      .add(key.device)
      .hex()
      .substr(0, 16);
}

json to_json(const LoggedTask& task) {
  const Environment& environment = task.environment;
  json parameters = json::array();
  for (const sched::Parameter& parameter : task.space.parameters)
    parameters.push_back({{"name", parameter.name}, {"values", parameter.values}});
  return {{"tcc_trials", kTrialSchema},
          {"kernel", log_id(task.key)},
          {"template", task.key.kernel_template},
          {"version", task.key.version},
          {"region", task.key.region},
          {"target", task.key.device},
          {"name", task.name},
          {"operands", task.operands},
          {"environment",
           {{"device", environment.device},
            {"driver", environment.driver},
            {"compiler", environment.compiler},
            {"space", environment.space},
            {"vendor", environment.vendor},
            {"capabilities", environment.capabilities}}},
          {"space", parameters},
          {"default", config_json(task.default_config)},
          {"bound", task.bound_seconds}};
}

json to_json(const RecordKey& key, const LoggedTrial& trial) {
  const Measurement& result = trial.result;
  // The template and the region are for people and scripts: readers go by the kernel's line.
  return {{"trial", log_id(key)},
          {"template", key.kernel_template},
          {"region", key.region},
          {"config", config_json(trial.config)},
          {"effort", trial.effort == Effort::quick ? "quick" : "full"},
          {"estimate", trial.estimate},
          {"compile", trial.compile_seconds},
          {"status", name(result.status)},
          {"median", result.seconds},
          {"low", result.low},
          {"high", result.high},
          {"samples", result.samples},
          {"error", result.error},
          {"clocks",
           {{"sm_mhz", result.clocks.sm_mhz},
            {"memory_mhz", result.clocks.memory_mhz},
            {"throttle", result.clocks.throttle}}},
          {"reason", result.reason.substr(0, kMaxReason)}};
}

LoggedLine parse_log_line(std::string_view line) {
  json parsed;
  try {
    parsed = json::parse(line, [](int depth, json::parse_event_t, const json&) {
      if (depth > kMaxDepth) fail_input("nested deeper than ", kMaxDepth, " levels");
      return true;
    });
  } catch (const json::exception&) { fail_input("no JSON"); }
  if (!parsed.is_object()) fail_input("no JSON object");
  if (parsed.contains("trial")) return {text(parsed, "trial"), trial(parsed)};
  if (!parsed.contains("tcc_trials")) fail_input("neither a kernel nor a trial");
  if (integer(parsed["tcc_trials"], "tcc_trials") != kTrialSchema)
    fail_input("only schema ", kTrialSchema, " can be read");
  LoggedTask result = task(parsed);
  return {log_id(result.key), std::move(result)};
}

}  // namespace tcc::autotune
