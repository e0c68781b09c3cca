// Quirk files say which parts of a device are not to be used with a driver, and with which drivers
// everything was tested. They are text, a line each, so that files join by being joined:
//
//   tcc_quirks: 1
//   # API | device | driver and versions | what | reason
//   vulkan | NVIDIA H200 | NVIDIA 580..580.159 | off unit coopmat * bf16 bf16 * | wrong sums
//   vulkan | llvmpipe* | llvmpipe Mesa 22.3 | tested | 2026-11-23
//
// In names, * stands for any text and ? for any character. docs/self-test.md describes the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executable/target.h"

namespace tcc::exec {

// A driver's text has a name and a version: the numbers that its first word of digits begins with.
// "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)" is "llvmpipe Mesa" and 22.3.6.
struct DriverVersion {
  std::string name;
  std::vector<int64_t> version;  // empty: it has none
};
DriverVersion driver_version(std::string_view driver);

// One line of a quirk file.
struct Quirk {
  std::string api = "*", device = "*", driver = "*";  // patterns; of the driver's name
  // The versions from `low` to `high`, both included; 580.1 lies in 580..580. Empty: no limit.
  std::vector<int64_t> low, high;
  std::optional<Part> off;  // nothing: the driver was tested
  std::string what;         // a unit's pattern, a feature, a template, or a template and values
  std::string reason;
  std::string source = {};  // "FILE:LINE" where it was read

  // The template that it switches off, or whose configs; "" for all else.
  std::string_view template_name() const;
  // The values of a template's configs that it switches off; none for all else.
  std::vector<std::pair<std::string, int64_t>> values() const;

  // Whether it is of the target's device and driver. A driver that tells no version is within no
  // limits.
  bool is_of(const Target& target) const;
  // The line, without its end.
  std::string line() const;
  // Whether both say the same of the same devices and drivers, for whatever reason.
  bool repeats(const Quirk& other) const;
};

struct QuirkFile {
  std::vector<Quirk> quirks;
  std::vector<std::string> problems;  // "FILE:LINE: REASON" for each line that was left out
};
// Reads the text of a file that may be anything; messages name `file`.
QuirkFile parse_quirks(std::string_view text, const std::string& file);
// One quirk from a line, or nothing, with the reason in `problem`.
std::optional<Quirk> parse_quirk(std::string_view line, std::string& problem);

// The text of a file of these, sorted, each once.
std::string quirk_file_text(std::vector<Quirk> quirks);
// Those of `more` that repeat none of `quirks` are added to them.
void merge_quirks(std::vector<Quirk>& quirks, std::span<const Quirk> more);

// Names of features that may be switched off: "float64", "subgroup_shuffle".
std::vector<std::string_view> feature_names();
// Returns whether the target has the feature of that name.
bool has_feature(const Target& target, std::string_view feature);
// Why a feature of that name is not used, "switched off by quirk FILE:LINE: REASON"; "": no quirk.
std::string why_feature_off(const Target& target, std::string_view feature);
// Returns the part of `text` before `separator` and removes both from `text`, which has no data
// where there is no separator.
std::string_view cut(std::string_view& text, std::string_view separator);
// "*" and "?" are the only special characters of a pattern.
bool matches(std::string_view pattern, std::string_view text);

// Takes from the target what the quirks of its device and driver switch off, and notes it.
void apply_quirks(Target& target, std::span<const Quirk> quirks);
// The same for units that the target may not have yet: removes those that are switched off, and
// notes in the target which ones quirks of units name.
void switch_off_units(std::vector<MatrixUnit>& units, Target& target,
                      std::span<const Quirk> quirks);
// Returns what is wrong with a quirk that parse_quirk() takes, or "": only the compiler knows the
// names of templates. quirks() leaves out the lines that a rule refuses, with a warning for each.
using QuirkRule = std::string (*)(const Quirk& quirk);
class RegisterQuirkRule {
 public:
  explicit RegisterQuirkRule(QuirkRule rule);
};
// Returns whether one of the quirks says that the target's driver was tested.
bool is_tested(const Target& target, std::span<const Quirk> quirks);

// The quirks of this machine: of configs/quirks, the user's folder, and the files and folders in
// $TCC_QUIRKS and $TCC_TUNING_PATH. They are read once in a process; lines that cannot be read are
// warnings. $TCC_QUIRKS=none: there are none.
const std::vector<Quirk>& quirks();
// Makes quirks() what this says, until the next call; nothing: what the files say. Devices that are
// open keep what they had. References that quirks() gave become invalid.
void use_quirks(std::optional<std::vector<Quirk>> instead);
// The same for what lists and opens devices: apply_quirks(target, quirks()).
void apply_quirks(Target& target);

// $XDG_CONFIG_HOME/tcc/quirks, else ~/.config/tcc/quirks; "" where neither is set.
std::filesystem::path user_quirk_folder();
// Whether TCC_QUIRKS is "none": no file is read then.
bool quirks_are_off();
// The files that quirks() reads, in order.
std::vector<std::filesystem::path> quirk_files(
    const std::function<void(const std::string&)>& warn = {});

}  // namespace tcc::exec
