#include "tools/help.h"

#include <map>
#include <memory>
#include <sstream>

#include "support/error.h"
#include "tools/help_forms.h"

namespace tcc::tools {
namespace {

constexpr size_t kColumn = 30, kWidth = 100;

// Every program shows an option by this: its group, and the name of its value. Alternatives are
// divided by "|", and shells complete them.
struct Shown {
  const char* group;
  const char* value = "";
};
const std::map<std::string_view, Shown>& shown_options() {
  static const std::map<std::string_view, Shown> options = {
      {"device", {"Device", "DEVICE"}},
      {"target", {"Device", "TARGET"}},
      {"self-test", {"Device"}},
      {"time-limit", {"Device", "SECONDS"}},
      {"dim", {"Graph and inputs", "NAME=N"}},
      {"at", {"Graph and inputs", "NAME=N,N"}},
      {"specialize", {"Graph and inputs", "NAME=N,N"}},
      {"input", {"Graph and inputs", "NAME=FILE|NUMBERS"}},
      {"inputs", {"Graph and inputs", "FILE.npz"}},
      {"state", {"Graph and inputs", "INPUT=OUTPUT"}},
      {"load-states", {"Graph and inputs", "FILE.safetensors"}},
      {"public-key", {"Graph and inputs", "FILE"}},
      {"seed", {"Graph and inputs", "N"}},
      {"kernel", {"Graph and inputs", "FILE"}},
      {"graph", {"Graph and inputs", "FILE"}},
      {"dtype", {"Compilation", "f32|f16|bf16|f64"}},
      {"matmul-precision", {"Compilation", "highest|high|medium"}},
      {"strict-rounding", {"Compilation"}},
      {"no-fuse", {"Compilation"}},
      {"no-cache", {"Compilation"}},
      {"tuning", {"Tuning records", "PATH"}},
      {"template", {"Tuning records", "TEMPLATE"}},
      {"threshold", {"Tuning records", "PERCENT"}},
      {"stale", {"Tuning records"}},
      {"families", {"Tuning records"}},
      {"dry-run", {"Tuning records"}},
      {"model", {"Graph and inputs", "FILE"}},
      {"write-table", {"Results", "FILE"}},
      {"check", {"Results", "ops"}},
      {"bench", {"Results", "N"}},
      {"outputs", {"Results", "FILE"}},
      {"save-states", {"Results", "FILE.safetensors"}},
      {"output", {"Results", "DIR"}},
      {"json", {"Results"}},
      {"report", {"Results", "FILE.html"}},
      {"log", {"Results", "FILE"}},
      {"emit", {"What the compiler does", "DIR"}},
      {"dump-after", {"What the compiler does", "STAGE"}},
      {"dump-to", {"What the compiler does", "DIR"}},
      {"explain-fusion", {"What the compiler does"}},
      {"package", {"Results", "FILE.tccpkg"}},
      {"weights", {"Results", "FILE.safetensors"}},
      {"search", {"Search", "auto|exhaustive|random|staged|evolutionary"}},
      {"trials", {"Search", "N"}},
      {"budget", {"Search", "SECONDS"}},
      {"jobs", {"Search", "N"}},
      {"resume", {"Search"}},
      {"shard", {"Search", "i/n"}},
      {"plan-search", {"Search"}},
      {"replay", {"Search", "LOG"}},
      {"filter", {"Cases", "WORD"}},
      {"only", {"Statistics", "time|counts|compile-time"}},
      {"smallest", {"Statistics", "PERCENT"}},
      {"smallest-compile", {"Statistics", "PERCENT"}},
      {"false-alarms", {"Statistics", "PERCENT"}},
      {"most-blocks", {"Statistics", "N"}},
      {"limit", {"Statistics", "SECONDS"}},
      {"blocks", {"Statistics", "N"}},
      {"seconds", {"Statistics", "N"}},
      {"store", {"Store", "STORE"}},
      {"base", {"Builds", "BUILD"}},
      {"head", {"Builds", "BUILD"}},
      {"build", {"Builds", "COMMAND"}},
      {"library", {"Builds", "PATH"}},
      {"repository", {"Builds", "FOLDER"}},
      {"build-minutes", {"Builds", "N"}},
      {"lines", {"Results", "N"}},
      {"runs", {"Statistics", "N"}},
      {"change", {"Statistics", "PERCENT"}},
      {"commit", {"Store", "COMMIT"}},
      {"host", {"Store", "NAME"}},
      {"label", {"Store", "KEY=VALUE"}},
      {"case", {"Store", "WORD"}},
      {"machine", {"Store", "WORD"}},
      {"since", {"Store", "DATE"}},
      {"by", {"Store", "run|commit"}},
      {"gate", {"Statistics", "N"}},
      {"judge", {"Statistics"}},
      {"replace", {"Store"}},
      {"kernels", {"Results"}},
      {"run", {"Store", "NAME"}},
      {"quantity", {"Store", "NAME"}},
      {"note", {"Store", "TEXT"}},
      {"warm", {"Compilation"}},
      {"results", {"Results", "FILE.json"}},
      {"html", {"Results", "FILE.html"}},
      {"markdown", {"Results", "FILE.md"}},
      {"junit", {"Results", "FILE.xml"}},
      {"sarif", {"Results", "FILE.sarif"}},
      {"google-benchmark", {"Results", "FILE.json"}},
      {"google-benchmark-base", {"Results", "FILE.json"}},
      {"help", {"Help"}},
      {"version", {"Help"}},
      {"help-as", {"Help", "man|bash|zsh|fish"}},
  };
  return options;
}

// `text` in lines of at most kWidth columns, those after the first indented by kColumn.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string lines;
  size_t used = kColumn;
  for (std::string word; words >> word;) {
    if (lines.empty()) {
      lines = word;
    } else if (used + 1 + word.size() > kWidth) {
      lines += "\n" + std::string(kColumn, ' ') + word;
      used = kColumn;
    } else {
      lines += " " + word;
      ++used;
    }
    used += word.size();
  }
  return lines;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kColumn); }

  // Sections are one blank line apart, whichever CLI11 puts them together.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string left = "  " + (is_positional ? make_option_name(option, true)
                                             : option_names(*option) + value_text(*option));
    left += left.size() + 2 > kColumn ? "\n" + std::string(kColumn, ' ')
                                      : std::string(kColumn - left.size(), ' ');
    return left + wrapped(description_text(*option)) + "\n";
  }
  std::string make_subcommand(const CLI::App* command) const override {
    const std::string left = "  " + command->get_name();
    return left + std::string(kColumn - left.size(), ' ') + wrapped(command->get_description()) +
           "\n";
  }
};

void arrange(CLI::App& app, const std::shared_ptr<HelpFormatter>& formatter) {
  app.formatter(formatter);
  for (CLI::Option* option : app.get_options()) {
    const bool has_value = option->get_items_expected_max() > 0;
    if (option->get_positional() || option->get_lnames().empty()) {
      if (has_value) option->type_name("");  // the name says it
      continue;
    }
    const std::string& name = option->get_lnames().front();
    const auto found = shown_options().find(name);
    TCC_CHECK(found != shown_options().end() || !has_value, "--", name, ": what is its value?");
    if (found == shown_options().end()) continue;
    option->group(found->second.group);
    TCC_CHECK(!has_value || *found->second.value, "--", name, ": what is its value?");
    // Only those flags are shown so that may have a value, "--check{outputs}".
    if (*found->second.value && (has_value || !option->get_fnames().empty()))
      option->type_name(found->second.value);
  }
  for (CLI::App* command : app.get_subcommands({})) arrange(*command, formatter);
}

}  // namespace

std::string option_names(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) names += "--" + name + ", ";
  if (names.empty()) return option.get_name(true);
  names.resize(names.size() - 2);
  return names;
}

std::string value_name(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return name.substr(0, name.find(':'));  // what a validator allows comes behind it
}

std::string value_text(const CLI::Option& option) {
  const std::string value = value_name(option);
  if (value.empty()) return "";
  if (option.get_items_expected_max() == 0)
    return "[=" + value + "]";  // a flag with an alternative
  return option.get_items_expected_min() == 0 ? " [" + value + "]" : " " + value;
}

std::string description_text(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += " (default: " + option.get_default_str() + ")";
  if (option.get_required() && !option.get_positional()) text += " (required)";
  return text;
}

void add_examples(CLI::App& app, std::initializer_list<Example> examples) {
  std::string text = "Examples:\n";
  for (const Example& example : examples)
    text += str("  ", example.command, "\n      ", example.what, "\n");
  text +=
      "\nExit codes: 0 fine, 1 a check failed, 2 bad usage or bad input, 3 no such device,\n"
      "4 the device or its toolchain failed, 70 an internal error, 130 interrupted.";
  app.footer(text);
}

void arrange_help(CLI::App& app) { arrange(app, std::make_shared<HelpFormatter>()); }

std::string help_as(const CLI::App& app, std::string_view format) {
  if (format == "man") return man_page(app);
  if (format == "bash") return bash_completion(app);
  if (format == "zsh") return zsh_completion(app);
  if (format == "fish") return fish_completion(app);
  fail_input("--help-as ", format, ": must be man, bash, zsh or fish");
}

}  // namespace tcc::tools
