#include "executable/quirks.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <system_error>

#include "support/config_folder.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"
#include "support/system.h"
#include "support/utf8.h"

namespace tcc::exec {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostFileBytes = 1 << 20;  // of a file
constexpr size_t kMostLine = 2000;
constexpr size_t kMostQuirks = 10'000;    // of a file, and of all files
constexpr size_t kMostProblems = 20;      // that are told of a file
constexpr size_t kMostNumbers = 6;        // of a version
constexpr int64_t kMostNumber = 1 << 30;  // in one
constexpr size_t kMostFiles = 200;        // of a folder
constexpr std::string_view kHeaderKey = "tcc_quirks:", kHeader = "tcc_quirks: 1";
constexpr std::string_view kExtension = ".quirks";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// "580.159.03": its numbers and the text's length; nothing where it begins with none.
std::vector<int64_t> leading_version(std::string_view text, size_t& length) {
  std::vector<int64_t> numbers;
  length = 0;
  for (size_t at = 0; numbers.size() < kMostNumbers && at < text.size() && is_digit(text[at]);) {
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc() || number > kMostNumber) return {};
    numbers.push_back(number);
    length = static_cast<size_t>(stop - text.data());
    at = length < text.size() && text[length] == '.' ? length + 1 : text.size();
  }
  return numbers;
}

// A whole text that is a version.
std::optional<std::vector<int64_t>> parse_version(std::string_view text) {
  size_t length = 0;
  std::vector<int64_t> version = leading_version(text, length);
  if (version.empty() || length != text.size()) return std::nullopt;
  return version;
}

std::string version_text(const std::vector<int64_t>& version) {
  std::string text;
  for (const int64_t number : version) text += str(text.empty() ? "" : ".", number);
  return text;
}

// Compares as far as `limit` goes: 580.159 is 580.
int compare(const std::vector<int64_t>& version, const std::vector<int64_t>& limit) {
  for (size_t i = 0; i < limit.size(); ++i) {
    const int64_t number = i < version.size() ? version[i] : 0;
    if (number != limit[i]) return number < limit[i] ? -1 : 1;
  }
  return 0;
}

struct TargetFeature {
  std::string_view name;
  bool (*has)(const Target&);
  void (*drop)(Target&);
};

constexpr std::string_view kMatrixUnits = "matrix_units";
constexpr TargetFeature kTargetFeatures[] = {
    {"box_copies", [](const Target& t) { return t.box_copies; },
     [](Target& t) { t.box_copies = false; }},
    {"byte_products", [](const Target& t) { return t.byte_products; },
     [](Target& t) { t.byte_products = false; }},
    {"clusters", [](const Target& t) { return t.max_cluster > 1; },
     [](Target& t) { t.max_cluster = 1; }},
    {"cooperative_launches", [](const Target& t) { return t.cooperative_launches; },
     [](Target& t) { t.cooperative_launches = false; }},
    {"float64", [](const Target& t) { return t.float64; }, [](Target& t) { t.float64 = false; }},
    {"int64", [](const Target& t) { return t.int64; }, [](Target& t) { t.int64 = false; }},
    {"matrix_conversions", [](const Target& t) { return t.matrix_conversions; },
     [](Target& t) { t.matrix_conversions = false; }},
    {kMatrixUnits, [](const Target& t) { return !t.matrix_units.empty(); },
     [](Target& t) { t.matrix_units.clear(); }},
    {"native_exp2", [](const Target& t) { return t.native_exp2; },
     [](Target& t) { t.native_exp2 = false; }},
    {"overlapping_launches", [](const Target& t) { return t.overlapping_launches; },
     [](Target& t) { t.overlapping_launches = false; }},
    {"storage16", [](const Target& t) { return t.storage16; },
     [](Target& t) { t.storage16 = false; }},
    {"storage8", [](const Target& t) { return t.storage8; }, [](Target& t) { t.storage8 = false; }},
    {"subgroup_shuffle", [](const Target& t) { return t.subgroup_shuffle; },
     [](Target& t) { t.subgroup_shuffle = false; }},
};

const TargetFeature* find_feature(std::string_view name) {
  const auto found = std::ranges::find(kTargetFeatures, name, &TargetFeature::name);
  return found == std::end(kTargetFeatures) ? nullptr : found;
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
  });
}

// "block_m=64 stages=2".
std::optional<std::vector<std::pair<std::string, int64_t>>> parse_values(std::string_view text) {
  constexpr size_t kMost = 64;
  std::vector<std::pair<std::string, int64_t>> values;
  while (!(text = trimmed(text)).empty()) {
    std::string_view value = cut(text, " ");
    const std::string_view name = cut(value, "=");
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (!is_word(name) || error != std::errc() || stop != value.data() + value.size() ||
        values.size() == kMost)
      return std::nullopt;
    values.emplace_back(name, number);
  }
  if (values.empty()) return std::nullopt;
  return values;
}

struct PartName {
  Part part;
  std::string_view name;
};
constexpr PartName kParts[] = {{Part::unit, "unit"},
                               {Part::feature, "feature"},
                               {Part::kernel_template, "template"},
                               {Part::config, "config"}};

// "off feature float64" or "tested"; returns what is wrong with it, or "".
std::string parse_what(std::string_view text, Quirk& quirk) {
  if (text == "tested") return "";
  constexpr const char* expected =
      "expected 'tested', or 'off' with 'unit', 'feature', 'template' or 'config' and a name";
  if (cut(text, " ") != "off") return expected;
  text = trimmed(text);
  const std::string_view kind = cut(text, " ");
  const auto part = std::ranges::find(kParts, kind, &PartName::name);
  quirk.what = trimmed(text);
  if (part == std::end(kParts) || quirk.what.empty()) return expected;
  quirk.off = part->part;
  switch (*quirk.off) {
    case Part::unit: return "";
    case Part::feature: {
      if (find_feature(quirk.what)) return "";
      std::string known;
      for (const TargetFeature& one : kTargetFeatures)
        known += str(known.empty() ? "" : ", ", one.name);
      return str("no feature '", quirk.what, "'; there are ", known);
    }
    case Part::kernel_template:
      return is_word(quirk.what) ? "" : "expected the name of a kernel template";
    case Part::config: {
      std::string_view rest = quirk.what;
      const bool is_fine = is_word(cut(rest, " ")) && parse_values(rest);
      return is_fine ? "" : "expected a template and values, as in 'gemm_sm80 stages=4'";
    }
  }
  return expected;
}

// "NVIDIA 580..580.159", "Mesa 22.3", "*": a name, then versions where it says so.
std::string parse_driver(std::string_view text, Quirk& quirk) {
  const size_t space = text.rfind(' ');
  const std::string_view versions = space == text.npos ? text : text.substr(space + 1);
  const bool has_versions =
      !versions.empty() && (is_digit(versions.front()) || versions.starts_with(".."));
  if (!has_versions) {
    quirk.driver = text;
    return "";
  }
  quirk.driver = space == text.npos ? std::string_view() : trimmed(text.substr(0, space));
  const bool is_range = versions.find("..") != versions.npos;
  std::string_view rest = versions;
  const std::string_view low = cut(rest, ".."), high = is_range ? rest : low;
  const std::string expected = "expected versions as in '22.3', '580..580.159' or '..25.0'";
  for (const auto& [limit, into] : {std::pair(low, &quirk.low), std::pair(high, &quirk.high)}) {
    if (limit.empty()) continue;
    const auto version = parse_version(limit);
    if (!version) return expected;
    *into = *version;
  }
  if (quirk.low.empty() && quirk.high.empty()) return expected;
  if (!quirk.low.empty() && !quirk.high.empty() && compare(quirk.low, quirk.high) > 0)
    return str("no version lies in ", versions, ": write ", high, "..", low);
  return "";
}

// A text that a message may show, in one field: no control characters, no separators.
std::string plain_field(std::string_view text) {
  std::string safe;
  for (const char c : text.substr(0, 400))
    safe += static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '|' ? ' ' : c;
  return std::string(trimmed(safe));
}

bool is_text(std::string_view line) {
  while (!line.empty()) {
    const size_t length = utf8_length(line);
    const auto first = static_cast<unsigned char>(line.front());
    if (length == 0 || (first < 0x20 && first != '\t' && first != '\r') || first == 0x7f)
      return false;
    // U+0080 to U+009F control terminals, too.
    if (length == 2 && first == 0xc2 && static_cast<unsigned char>(line[1]) < 0xa0) return false;
    line.remove_prefix(length);
  }
  return true;
}

}  // namespace

DriverVersion driver_version(std::string_view driver) {
  DriverVersion result;
  for (size_t at = 0; at < driver.size();) {
    const size_t end = std::min(driver.find(' ', at), driver.size());
    if (is_digit(driver[at])) {
      size_t length = 0;
      result.version = leading_version(driver.substr(at, end - at), length);
      result.name = trimmed(driver.substr(0, at));
      return result;
    }
    at = end + 1;
  }
  result.name = driver;
  return result;
}

std::string_view cut(std::string_view& text, std::string_view separator) {
  const size_t at = text.find(separator);
  const std::string_view first = text.substr(0, at);
  text = at == text.npos ? std::string_view() : text.substr(at + separator.size());
  return first;
}

bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = pattern.npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool Quirk::is_of(const Target& target) const {
  if (!matches(api, name(target.api)) || !matches(device, target.device)) return false;
  const DriverVersion of = driver_version(target.driver);
  if (!matches(driver, of.name)) return false;
  if (low.empty() && high.empty()) return true;
  return !of.version.empty() && compare(of.version, low) >= 0 && compare(of.version, high) <= 0;
}

std::string_view Quirk::template_name() const {
  if (off != Part::kernel_template && off != Part::config) return "";
  return std::string_view(what).substr(0, what.find(' '));
}

std::vector<std::pair<std::string, int64_t>> Quirk::values() const {
  if (off != Part::config) return {};
  std::string_view rest = what;
  cut(rest, " ");
  return parse_values(rest).value_or(std::vector<std::pair<std::string, int64_t>>());
}

std::string Quirk::line() const {
  std::string versions = version_text(low);
  if (low != high) versions += ".." + version_text(high);
  std::string text = str(plain_field(api), " | ", plain_field(device), " | ", plain_field(driver),
                         driver.empty() || versions.empty() ? "" : " ", versions, " | ");
  if (off)
    text +=
        str("off ", std::ranges::find(kParts, *off, &PartName::part)->name, " ", plain_field(what));
  else
    text += "tested";
  return text + (reason.empty() ? "" : " | " + plain_field(reason));
}

bool Quirk::repeats(const Quirk& other) const {
  return api == other.api && device == other.device && driver == other.driver && low == other.low &&
         high == other.high && off == other.off && what == other.what;
}

std::optional<Quirk> parse_quirk(std::string_view line, std::string& problem) {
  constexpr size_t kFields = 5;
  if (line.size() > kMostLine) {
    problem = str("a line of more than ", kMostLine, " bytes");
    return std::nullopt;
  }
  if (!is_text(line)) {
    problem = "not a line of text";
    return std::nullopt;
  }
  std::vector<std::string_view> fields;
  std::string_view rest = line;
  for (size_t i = 0; i < kFields && (i == 0 || rest.data()); ++i)
    fields.push_back(trimmed(cut(rest, i + 1 < kFields ? "|" : "\n")));
  if (fields.size() < 4) {
    problem = "expected 'API | device | driver and versions | what | reason'";
    return std::nullopt;
  }
  Quirk quirk;
  quirk.api = fields[0];
  quirk.device = fields[1];
  if (quirk.api.empty() || quirk.device.empty() || fields[2].empty())
    problem = "API, device and driver may not be empty; * is any";
  if (problem.empty()) problem = parse_driver(fields[2], quirk);
  if (problem.empty()) problem = parse_what(fields[3], quirk);
  if (fields.size() > 4) quirk.reason = plain_field(fields[4]);
  if (problem.empty() && quirk.off && quirk.reason.empty()) problem = "a reason is missing";
  if (!problem.empty()) return std::nullopt;
  return quirk;
}

QuirkFile parse_quirks(std::string_view text, const std::string& file) {
  QuirkFile result;
  size_t left_out = 0;
  const auto say = [&](const std::string& problem) {
    if (++left_out <= kMostProblems) result.problems.push_back(problem);
  };
  bool has_header = false;
  int number = 0;
  text = without_byte_order_mark(text);
  for (std::string_view rest = text; rest.data() && !rest.empty();) {
    const std::string_view line = trimmed(cut(rest, "\n"));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (line == kHeader) {
      has_header = true;
      continue;
    }
    if (!has_header && line.starts_with(kHeaderKey)) {
      say(str(file, ":", number, ": version '",
              plain_field(trimmed(line.substr(kHeaderKey.size()))),
              "' of quirk files is not known; this tcc reads '", kHeader, "'"));
      break;
    }
    if (!has_header) {
      say(str(file, ":", number, ": expected '", kHeader, "' before anything else"));
      break;
    }
    std::string problem;
    std::optional<Quirk> quirk = parse_quirk(line, problem);
    if (!quirk) {
      say(str(file, ":", number, ": ", problem));
      continue;
    }
    if (result.quirks.size() == kMostQuirks) {
      say(str(file, ":", number, ": more than ", kMostQuirks, " quirks"));
      break;
    }
    quirk->source = str(file, ":", number);
    result.quirks.push_back(*std::move(quirk));
  }
  if (left_out > kMostProblems)
    result.problems.push_back(str(file, ": ", left_out - kMostProblems, " more lines like these"));
  return result;
}

std::string quirk_file_text(std::vector<Quirk> quirks) {
  std::vector<Quirk> different;
  merge_quirks(different, quirks);
  std::vector<std::string> lines;
  for (const Quirk& quirk : different) lines.push_back(quirk.line());
  std::ranges::sort(lines);
  std::string text = str(kHeader, "\n# API | device | driver and versions | what | reason\n");
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void merge_quirks(std::vector<Quirk>& quirks, std::span<const Quirk> more) {
  for (const Quirk& quirk : more)
    if (std::ranges::none_of(quirks, [&](const Quirk& one) { return one.repeats(quirk); }))
      quirks.push_back(quirk);
}

std::vector<std::string_view> feature_names() {
  std::vector<std::string_view> names;
  for (const TargetFeature& feature : kTargetFeatures) names.push_back(feature.name);
  return names;
}

bool has_feature(const Target& target, std::string_view feature) {
  const TargetFeature* found = find_feature(feature);
  return found && found->has(target);
}

std::string why_feature_off(const Target& target, std::string_view feature) {
  for (const SwitchedOff& off : target.switched_off)
    if (off.part == Part::feature && off.what == feature) return off.text();
  return "";
}

void switch_off_units(std::vector<MatrixUnit>& units, Target& target,
                      std::span<const Quirk> quirks) {
  for (const Quirk& quirk : quirks) {
    if (!quirk.off || !quirk.is_of(target)) continue;
    if (*quirk.off == Part::feature && quirk.what == kMatrixUnits) units.clear();
    if (*quirk.off != Part::unit) continue;
    std::erase_if(units, [&](const MatrixUnit& unit) {
      SwitchedOff off{Part::unit, to_string(unit), quirk.source, quirk.reason};
      if (!matches(quirk.what, off.what)) return false;
      target.switched_off.push_back(std::move(off));
      return true;
    });
  }
}

void apply_quirks(Target& target, std::span<const Quirk> quirks) {
  for (const Quirk& quirk : quirks) {
    if (!quirk.off || !quirk.is_of(target)) continue;
    SwitchedOff off{*quirk.off, quirk.what, quirk.source, quirk.reason};
    switch (*quirk.off) {
      case Part::unit: switch_off_units(target.matrix_units, target, {&quirk, 1}); continue;
      case Part::feature: {
        const TargetFeature* feature = find_feature(quirk.what);
        if (!feature || !feature->has(target)) continue;
        feature->drop(target);
        break;
      }
      case Part::kernel_template: break;
      case Part::config: {
        off.template_name = quirk.template_name();
        off.values = quirk.values();
        if (off.values.empty()) continue;
        break;
      }
    }
    target.switched_off.push_back(std::move(off));
  }
}

bool is_tested(const Target& target, std::span<const Quirk> quirks) {
  return std::ranges::any_of(quirks,
                             [&](const Quirk& quirk) { return !quirk.off && quirk.is_of(target); });
}

fs::path user_quirk_folder() {
  const fs::path settings = system::config_home();
  return settings.empty() ? fs::path() : settings / "tcc" / "quirks";
}

bool quirks_are_off() {
  const char* value = std::getenv("TCC_QUIRKS");
  return value && std::string_view(value) == "none";
}

std::vector<fs::path> quirk_files(const std::function<void(const std::string&)>& warn) {
  std::vector<fs::path> files;
  if (quirks_are_off()) return files;
  // Files of a folder, or the file itself where any name will do.
  const auto add = [&](const fs::path& path, bool any_name) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      std::vector<fs::path> own;
      for (fs::directory_iterator entry(path, error), end; !error && entry != end;
           entry.increment(error))
        if (entry->path().extension() == kExtension && own.size() < kMostFiles)
          own.push_back(entry->path());
      std::ranges::sort(own);
      files.insert(files.end(), own.begin(), own.end());
      return true;
    }
    if (!fs::exists(path, error)) return false;
    if (any_name || path.extension() == kExtension) files.push_back(path);
    return true;
  };
  if (const fs::path configs = config_folder(); !configs.empty()) add(configs / "quirks", true);
  if (const fs::path user = user_quirk_folder(); !user.empty()) add(user, true);
  for (const char* variable : {"TCC_TUNING_PATH", "TCC_QUIRKS"}) {
    const bool is_own = std::string_view(variable) == "TCC_QUIRKS";
    const char* value = std::getenv(variable);
    std::istringstream list(value ? value : "");
    for (std::string path; std::getline(list, path, system::kPathListSeparator);)
      if (!path.empty() && !add(path, is_own) && is_own && warn)
        warn(str(variable, ": no file or folder '", path, "'"));
  }
  return files;
}

namespace {

// The list is made before the first registration, whichever file that is in.
std::vector<QuirkRule>& quirk_rules() {
  static std::vector<QuirkRule> all;
  return all;
}

std::string refused(const Quirk& quirk) {
  for (const QuirkRule rule : quirk_rules())
    if (std::string problem = rule(quirk); !problem.empty()) return problem;
  return "";
}

std::vector<Quirk> read_all() {
  std::vector<Quirk> all;
  const auto warn = [](const std::string& text) { log_warning(LogChannel::device, text); };
  for (const fs::path& path : quirk_files(warn)) try {
      QuirkFile file = parse_quirks(read_file(path, kMostFileBytes), path.string());
      for (const std::string& problem : file.problems) warn(problem);
      for (Quirk& quirk : file.quirks) {
        if (const std::string problem = refused(quirk); !problem.empty()) {
          warn(str(quirk.source, ": ", problem));
          continue;
        }
        if (all.size() == kMostQuirks) {
          warn(str(quirk.source, ": more than ", kMostQuirks, " quirks; the rest is left out"));
          return all;
        }
        all.push_back(std::move(quirk));
      }
    } catch (const Error& error) { warn(error.what()); }
  return all;
}

struct OfProcess {
  std::mutex mutex;
  std::optional<std::vector<Quirk>> quirks;
};

OfProcess& of_process() {
  static OfProcess* const instance = new OfProcess;
  return *instance;
}

}  // namespace

RegisterQuirkRule::RegisterQuirkRule(QuirkRule rule) { quirk_rules().push_back(rule); }

const std::vector<Quirk>& quirks() {
  OfProcess& own = of_process();
  {
    const std::lock_guard lock(own.mutex);
    if (own.quirks) return *own.quirks;
  }
  std::vector<Quirk> read = read_all();  // a hook of the log may ask for devices
  const std::lock_guard lock(own.mutex);
  if (!own.quirks) own.quirks = std::move(read);
  return *own.quirks;
}

void use_quirks(std::optional<std::vector<Quirk>> instead) {
  OfProcess& own = of_process();
  const std::lock_guard lock(own.mutex);
  own.quirks = std::move(instead);
}

void apply_quirks(Target& target) { apply_quirks(target, quirks()); }

}  // namespace tcc::exec
