#include "tools/track/read_runs.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "support/error.h"
#include "support/parallel.h"
#include "support/plural.h"

namespace tcc::tools {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostLine = size_t{8} << 20;
constexpr int kMostDepth = 8;
constexpr size_t kMostText = 4096;
constexpr size_t kMostRunCases = 100000;  // of a run
constexpr size_t kMostEntries = 10000;  // of a list or an object
constexpr size_t kMostSamplesRead = 1000000;

// ---- Every access says what is wrong; the caller adds the place.

const Json& member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) fail_input("'", key, "' is missing");
  return *found;
}

std::string text_of(const Json& value, const char* key) {
  if (!value.is_string()) fail_input("'", key, "' is no text");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kMostText) fail_input("'", key, "' is longer than ", kMostText, " characters");
  return text;
}

std::string text(const Json& object, const char* key) { return text_of(member(object, key), key); }

// "" for null and for a missing member.
std::string optional_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? "" : text_of(*found, key);
}

double number_of(const Json& value, const char* key) {
  if (!value.is_number()) fail_input("'", key, "' is no number");
  const auto number = value.get<double>();
  if (!std::isfinite(number)) fail_input("'", key, "' is not finite");
  return number;
}

double number(const Json& object, const char* key) { return number_of(member(object, key), key); }

int64_t count(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > 1e15)
    fail_input("'", key, "' is no count");
  return value.get<int64_t>();
}

const Json& object_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_object()) fail_input("'", key, "' is no object");
  if (value.size() > kMostEntries) fail_input("'", key, "' has too many members");
  return value;
}

const Json& list(const Json& object, const char* key, size_t most = kMostEntries) {
  const Json& value = member(object, key);
  if (!value.is_array()) fail_input("'", key, "' is no list");
  if (value.size() > most) fail_input("'", key, "' has too many entries");
  return value;
}

std::vector<std::string> texts(const Json& object, const char* key) {
  std::vector<std::string> result;
  for (const Json& one : list(object, key)) result.push_back(text_of(one, key));
  return result;
}

// Before a parser sees it.
bool too_deep(std::string_view line) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMostDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Json parsed(std::string_view line) {
  if (line.size() > kMostLine) fail_input("longer than ", kMostLine >> 20, " MiB");
  if (too_deep(line)) fail_input("nested deeper than ", kMostDepth, " levels");
  Json result = Json::parse(line, nullptr, false);
  if (!result.is_object()) fail_input("no JSON object");
  return result;
}

bool is_date(const std::string& date) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  if (date.size() != kForm.size()) return false;
  for (size_t i = 0; i < date.size(); ++i)
    if (kForm[i] == 'd' ? !std::isdigit(static_cast<unsigned char>(date[i])) : date[i] != kForm[i])
      return false;
  return true;
}

TrackedRun header_of(const Json& line) {
  if (!line.contains("tcc_track_run")) fail_input("the first line is no header of a run");
  if (line["tcc_track_run"] != kRunSchema) fail_input("only schema ", kRunSchema, " can be read");
  TrackedRun run;
  run.date = text(line, "date");
  if (!is_date(run.date)) fail_input("'date' is not as 2026-11-22T12:31:05Z");
  run.host = text(line, "host");
  run.commit = optional_text(line, "commit");
  run.commit_date = optional_text(line, "commit_date");
  const Json& tcc = object_of(line, "tcc");
  run.version = text(tcc, "version");
  run.tcc_commit = optional_text(tcc, "commit");
  if (!member(line, "device").is_null()) {
    const Json& device = object_of(line, "device");
    run.device = text(device, "name");
    run.description = text(device, "description");
    run.vendor = text(device, "vendor");
    run.driver = text(device, "driver");
    run.target = text(device, "target");
  }
  run.compiler = optional_text(line, "compiler");
  run.command = texts(line, "command");
  run.suites = texts(line, "suites");
  for (const auto& [key, value] : object_of(line, "labels").items())
    run.labels[key] = text_of(value, "labels");
  run.planned = static_cast<size_t>(count(line, "cases"));
  return run;
}

Measured measured_of(const Json& value) {
  if (!value.is_object()) fail_input("a quantity is no object");
  Measured result;
  result.value = result.low = result.high = number(value, "value");
  if (value.contains("low")) result.low = number(value, "low");
  if (value.contains("high")) result.high = number(value, "high");
  result.rule = optional_text(value, "rule");
  return result;
}

std::optional<autotune::Clocks> clocks_of(const Json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  const Json& clocks = object_of(object, key);
  return autotune::Clocks{number(clocks, "sm_mhz"), number(clocks, "memory_mhz"),
                          text(clocks, "throttle"),
                          clocks.contains("power_watts") ? number(clocks, "power_watts") : 0};
}

TrackedCase case_of(const Json& line) {
  TrackedCase one;
  one.name = text(line, "case");
  one.kind = text(line, "kind");
  one.file = text(line, "suite");
  one.line = static_cast<int>(std::min<int64_t>(count(line, "line"), 1 << 30));
  one.work = optional_text(line, "work");
  const std::string status = text(line, "status");
  using Status = TrackedCase::Status;
  bool known = false;
  for (const Status each : {Status::ok, Status::failed, Status::wrong})
    if (name(each) == status) one.status = each, known = true;
  if (!known) fail_input("'status' cannot be '", status, "'");
  one.reason = optional_text(line, "reason");
  const Json& cached = member(line, "from_cache");
  if (!cached.is_boolean()) fail_input("'from_cache' is neither true nor false");
  one.from_cache = cached.get<bool>();
  for (const auto& [key, value] : object_of(line, "quantities").items())
    one.quantities[key] = measured_of(value);
  if (line.contains("budget"))
    for (const auto& [key, value] : object_of(line, "budget").items())
      one.budget[key] = number_of(value, "budget");
  if (line.contains("clocks")) {
    const Json& clocks = object_of(line, "clocks");
    one.before = clocks_of(clocks, "before");
    one.after = clocks_of(clocks, "after");
  }
  return one;
}

std::vector<std::vector<double>> samples_of(const Json& line) {
  std::vector<std::vector<double>> blocks;
  size_t all = 0;
  for (const Json& block : list(line, "blocks")) {
    if (!block.is_array() || (all += block.size()) > kMostSamplesRead)
      fail_input("'blocks' are no lists of samples");
    std::vector<double>& samples = blocks.emplace_back();
    for (const Json& sample : block) samples.push_back(number_of(sample, "blocks"));
  }
  return blocks;
}

TrackedKernel kernel_of(const Json& object) {
  if (!object.is_object()) fail_input("a kernel is no object");
  TrackedKernel kernel;
  kernel.region = text(object, "region");
  kernel.layers = texts(object, "layers");
  kernel.kernel_template = text(object, "template");
  kernel.config = text(object, "config");
  kernel.tier = text(object, "tier");
  kernel.key = text(object, "key");
  kernel.source = text(object, "source");
  kernel.launches = count(object, "launches");
  const auto optional = [&](const char* key) {
    return object.contains(key) ? std::optional(number(object, key)) : std::nullopt;
  };
  kernel.seconds = optional("seconds");
  kernel.low = optional("low");
  kernel.high = optional("high");
  kernel.bytes = number(object, "bytes");
  kernel.flops = number(object, "flops");
  kernel.roofline = optional("roofline");
  return kernel;
}

std::string name_of_details(const Json& object) {
  for (const char* key : {"samples", "kernels"})
    if (object.contains(key)) return text(object, key);
  fail_input("neither a case, nor accepted, nor an end");
}

// Samples or kernels.
void take_details(const Json& object, TrackedCase& one) {
  if (name_of_details(object) != one.name) fail_input("details of another case");
  if (object.contains("samples"))
    one.samples = samples_of(object);
  else
    for (const Json& kernel : list(object, "list")) one.kernels.push_back(kernel_of(kernel));
}

Acceptance acceptance_of(const Json& line) {
  return {text(line, "accept"), optional_text(line, "quantity"), text(line, "from"),
          text(line, "note")};
}

class RunParser {
 public:
  RunParser(const std::string& name, const std::string& place, const ReadOptions& options,
            Damage& damage)
      : place_(place), options_(options), damage_(damage) {
    result_.run.name = name;
  }

  std::optional<StoredRun> parse(std::string_view text) {
    for (number_ = 1; !text.empty(); ++number_) {
      const size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.empty()) continue;
      try {
        if (!take(line)) return std::nullopt;
      } catch (const Error& error) { tell(error.what()); }
    }
    if (!has_header_ && number_ == 1) tell("empty, without a header");
    if (!has_header_) return std::nullopt;
    return std::move(result_);
  }

 private:
  void tell(const std::string& reason) {
    ++damage_.lines;
    if (damage_.told.size() < Damage::kMostTold)
      damage_.told.push_back(str(place_, ":", number_, ": ", reason));
  }

  // False: the run is not wanted. Lines before a header, and all lines where it is damaged, are
  // damage: their case is not known.
  bool take(std::string_view line) {
    if (!has_header_) {
      TrackedRun run = header_of(parsed(line));
      run.name = std::move(result_.run.name);
      result_.run = std::move(run);
      has_header_ = true;
      return !options_.runs || options_.runs(result_.run);
    }
    if (!options_.details &&
        (line.starts_with(R"({"samples":)") || line.starts_with(R"({"kernels":)")))
      return true;
    const Json object = parsed(line);
    if (object.contains("case"))
      add(case_of(object));
    else if (object.contains("accept"))
      add(acceptance_of(object));
    else if (object.contains("end"))
      result_.end = {text(object, "end"), number(object, "seconds")};
    else
      add_details(object);
    return true;
  }

  void add(TrackedCase one) {
    if (options_.cases && !options_.cases(one.name)) return;
    if (!names_.insert(one.name).second) fail_input("a second '", one.name.substr(0, 100), "'");
    if (result_.cases.size() == kMostRunCases) fail_input("more than ", kMostRunCases, " cases");
    result_.cases.push_back(std::move(one));
  }

  void add(Acceptance accepted) {
    if (options_.cases && !options_.cases(accepted.name)) return;
    if (result_.accepted.size() == kMostEntries)
      fail_input("more than ", kMostEntries, " accepted");
    result_.accepted.push_back(std::move(accepted));
  }

  // They stand behind their case.
  void add_details(const Json& object) {
    const std::string name = name_of_details(object);
    if (!result_.cases.empty() && result_.cases.back().name == name)
      take_details(object, result_.cases.back());
    else if (!options_.cases || options_.cases(name))
      fail_input("details of '", name.substr(0, 100), "' without their case");
  }

  const std::string& place_;
  const ReadOptions& options_;
  Damage& damage_;
  StoredRun result_;
  std::set<std::string> names_;
  bool has_header_ = false;
  size_t number_ = 0;
};

void add(Damage& to, const Damage& from) {
  to.lines += from.lines;
  to.files += from.files;
  for (const std::string& told : from.told)
    if (to.told.size() < Damage::kMostTold) to.told.push_back(told);
}

}  // namespace

std::string Damage::summary() const {
  if (!any()) return "";
  std::string text;
  if (lines > 0) text = counted(lines, "damaged line");
  if (files > 0) text += (text.empty() ? "" : " and ") + counted(files, "file");
  return text + (lines + files == 1 ? " was" : " were") + " left out";
}

std::optional<StoredRun> parse_run(std::string_view text, const std::string& name,
                                   const std::string& place, const ReadOptions& options,
                                   Damage& damage) {
  return RunParser(name, place, options, damage).parse(text);
}

TrackedCase parse_case(std::string_view lines) {
  TrackedCase one;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const Json object = parsed(lines.substr(at, end - at));
    if (object.contains("case"))
      one = case_of(object);
    else
      take_details(object, one);
    at = end + 1;
  }
  if (one.name.empty()) fail_input("no case");
  return one;
}

void read_runs(const Store& store, const ReadOptions& options, Damage& damage,
               const std::function<void(StoredRun&&)>& sink) {
  constexpr size_t kAtOnce = 64;
  std::vector<std::string> names = store.names();
  if (options.names) std::erase_if(names, [&](const auto& name) { return !options.names(name); });
  for (size_t first = 0; first < names.size(); first += kAtOnce) {
    const size_t end = std::min(names.size(), first + kAtOnce);
    const std::span<const std::string> chunk(names.data() + first, end - first);
    std::vector<RunText> texts = store.texts(chunk);
    std::vector<std::optional<StoredRun>> runs(chunk.size());
    std::vector<Damage> damages(chunk.size());
    parallel_for(0, static_cast<int64_t>(chunk.size()), 1, [&](int64_t from, int64_t to) {
      for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) {
        if (texts[i].problem.empty())
          runs[i] =
              parse_run(texts[i].text, chunk[i], store.file_of(chunk[i]), options, damages[i]);
        else
          damages[i] = {.files = 1, .told = {texts[i].problem}};
        texts[i] = {};
      }
    });
    for (size_t i = 0; i < runs.size(); ++i) {
      add(damage, damages[i]);
      if (runs[i]) sink(std::move(*runs[i]));
    }
  }
}

}  // namespace tcc::tools
