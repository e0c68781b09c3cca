#include "tools/program.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "executable/matrix_unit.h"
#include "executable/package.h"
#include "frontend/yaml/document.h"
#include "ir/dtype.h"
#include "ir/graph.h"
#include "ir/size_range.h"
#include "ir/suggest.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"
#include "support/version.h"
#include "tools/help.h"
#include "tools/help_forms.h"
#include "tools/run_info.h"

namespace tcc::tools {

namespace {

// Says about the first word that is no option what was meant, or "".
std::string unknown_option(const CLI::App& app) {
  std::vector<std::string> known;
  const auto add = [&](const CLI::App& of) {
    for (const CLI::Option* option : of.get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  };
  add(app);
  for (const CLI::App* command : app.get_subcommands()) add(*command);
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("-")) continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), name) != known.end())
      return str("option ", name, " is not one of this command; see its --help");
    const std::string meant = ir::did_you_mean(name, known);
    return str("unknown option ", name, meant.empty() ? "; see --help" : meant);
  }
  return "";
}

// A flag takes its alternative by "=" alone: "--check=ops". Says about the first word too many
// which one was meant, or "".
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return "";
  std::string meant;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0 || option->get_lnames().empty()) continue;
    std::istringstream values(value_name(*option));
    for (std::string value; std::getline(values, value, '|');)
      if (value == words.front())
        meant = str("; did you mean --", option->get_lnames().front(), "=", value, "?");
  }
  return str("one word too many: '", words.front(), "'", meant.empty() ? "; see --help" : meant);
}

// The parser's words about a value that is no number.
std::string value_error(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string_view begin = "Could not convert: ";
  const size_t equal = text.find(" = ");
  if (!text.starts_with(begin) || equal == text.npos) return text + "; see --help";
  return str(text.substr(begin.size(), equal - begin.size()), ": must be a whole number, not '",
             text.substr(equal + 3), "'");
}

// Throws Error(bad_input) for a word of TCC_LOGS that names no log, one of TCC_TEMPLATES that names
// no kernel template, and one of TCC_MATRIX_UNITS that names no kind of unit.
void check_environment() {
  for (const std::string& name : asked_logs())
    if (std::find(known_logs().begin(), known_logs().end(), name) == known_logs().end())
      fail_input("TCC_LOGS: no log '", name, "'", yaml::or_known(name, known_logs()));
  if (const std::string unknown = sched::unknown_template(); !unknown.empty()) fail_input(unknown);
  exec::allowed_matrix_units({});
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  app.set_version_flag("--version", str(app.get_name(), " ", version_text()), "print the version");
  const auto set_help = [](CLI::App& of) { of.set_help_flag("-h,--help", "print this help"); };
  set_help(app);
  std::string format;
  app.add_option("--help-as", format, "print this help as a man page, or completion for a shell");
  for (CLI::App* command : app.get_subcommands({})) set_help(*command);
  arrange_help(app);
  keep_command(argc, argv);
  try {
    if (argc > 2 && std::string_view(argv[1]) == "--help-as") format = argv[2];
    if (format.empty()) app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    if (const std::string unknown = unknown_option(app); !unknown.empty()) {
      std::cerr << app.get_name() << ": " << unknown << "\n";
      return static_cast<int>(ErrorKind::bad_input);
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
      std::cerr << app.get_name() << ": " << unknown_word(app) << "\n";
    else
      std::cerr << app.get_name() << ": " << value_error(error) << "\n";
    return static_cast<int>(ErrorKind::bad_input);
  }
  log_as_lines(app.get_name());
  try {
    if (!format.empty()) {
      std::cout << help_as(app, format);
      return 0;
    }
    check_environment();
    return body();
  } catch (const Error& error) {
    std::cerr << app.get_name() << ": "
              << (error.kind() == ErrorKind::internal ? "internal error: " : "") << error.what()
              << "\n";
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    std::cerr << app.get_name() << ": out of host memory\n";
    return static_cast<int>(ErrorKind::device);
  } catch (const std::exception& error) {
    std::cerr << app.get_name() << ": internal error: " << error.what() << "\n";
    return static_cast<int>(ErrorKind::internal);
  }
}

void log_as_lines(const std::string& program, const std::function<void(const std::string&)>& say) {
  set_log_hook(
      [program, say](LogLevel level, std::string_view channel, std::string_view text) {
        const std::string lines = log_line(program, level, channel, text);
        if (!say) {
          std::cerr << lines;
          return;
        }
        std::istringstream in(lines);
        for (std::string line; std::getline(in, line);) say(line);
      },
      LogLevel::warning);
}

DimOptions parse_dims(const std::vector<std::string>& texts) {
  DimOptions dims;
  for (const std::string& text : texts) {
    const std::string said = str("--dim ", text);
    const ir::DimOption dim = ir::parse_dim(text, said);
    if (dims.numbers.contains(dim.name) || dims.open.contains(dim.name) ||
        dims.equal.contains(dim.name))
      fail_input(said, ": given twice");
    if (dim.number)
      dims.numbers.emplace(dim.name, *dim.number);
    else if (dim.expression)
      dims.equal.emplace(dim.name, *dim.expression);
    else
      dims.open.emplace(dim.name, dim.range);
  }
  return dims;
}

std::map<std::string, int64_t, std::less<>> parse_numbers(const std::vector<std::string>& texts,
                                                          const std::string& option,
                                                          const std::string& why) {
  std::map<std::string, int64_t, std::less<>> numbers;
  for (const std::string& text : texts) {
    const std::string said = str(option, " ", text);
    const size_t equal = text.find('=');
    if (equal == text.npos || equal + 1 == text.size() ||
        text.find_first_not_of("0123456789", equal + 1) != text.npos)
      fail_input(said, ": must be NAME=NUMBER: ", why);
    const ir::DimOption dim = ir::parse_dim(text, said);
    if (!numbers.emplace(dim.name, *dim.number).second) fail_input(said, ": given twice");
  }
  return numbers;
}

void check_dims(const backends::CompileOptions& options, const ir::Graph& graph) {
  const auto check = [&](const auto& dims) {
    for (const auto& [name, value] : dims) ir::require_dim(graph, name, str("--dim ", name, ": "));
  };
  check(options.dims);
  check(options.open_dims);
  check(options.equal_dims);
}

bool is_for_package(const std::string& file) {
  return std::filesystem::path(file).extension() == exec::kPackageExtension ||
         exec::is_package(file);
}

void refuse_package(const std::string& file) {
  if (is_for_package(file))
    fail_input(file, ": is a package, which is compiled already; graphs are .yaml or .onnx files");
}

CLI::Validator number_in(double least, double most) {
  const auto shown = [](double bound) {  // a million as such
    return bound == std::floor(bound) ? std::to_string(static_cast<int64_t>(bound)) : str(bound);
  };
  return {[=](const std::string& text) -> std::string {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            if (is_number && value >= least && value <= most) return "";
            return str("must be a number from ", shown(least), " to ", shown(most), ", not '", text,
                       "'");
          },
          "number"};
}

void say_default_dims(const std::string& program, const std::string& path, const ir::Graph& graph,
                      const ir::SizeRanges& open) {
  if (!path.ends_with(".onnx")) return;
  std::set<std::string> symbols;  // those that --dim or an input's file gives are numbers by now
  for (const ir::Value* input : graph.inputs)
    for (const ir::SymInt& dim : input->shape())
      dim.substitute([&](const ir::AtomPtr& atom) -> std::optional<ir::SymInt> {
        if (atom->kind == ir::Atom::Kind::symbol && !open.contains(atom->name))
          symbols.insert(atom->name);
        return std::nullopt;
      });
  std::string list;
  for (const std::string& name : symbols)
    list += str(list.empty() ? "" : ", ", name, " = ", graph.dims.at(name));
  if (list.empty()) return;
  note_once(program, str(path, ": dims without a value: ", list, " (--dim NAME=N gives one)"));
}

void note_once(const std::string& program, const std::string& text) {
  static std::set<std::string> said;
  const std::string line = str(program, ": note: ", text, "\n");
  if (said.insert(line).second) std::cerr << line;
}

void check_can_write(const std::string& option, const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  if (file.empty()) return;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    fail_input(option, " ", file.string(), ": there is no folder ", folder.string());
  if (!file.has_filename() || fs::is_directory(file, ignored))
    fail_input(option, " ", file.string(), ": is a folder, not a file");
  try {
    const AtomicFile probe(file);  // removed again
  } catch (const Error& error) { fail_input(option, " ", error.what()); }
}

std::string format_bytes(double bytes) {
  char text[32];
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

std::string format_seconds(double seconds) {
  char text[32];
  if (seconds >= 1)
    std::snprintf(text, sizeof text, "%.3f s", seconds);
  else if (seconds >= 1e-3)
    std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
  return text;
}

std::string format_rate(double rate) {
  if (!std::isfinite(rate)) return "-";
  char text[32];
  const char* format = rate >= 100 ? "%.0f" : rate >= 10 ? "%.1f" : rate >= 1 ? "%.2f" : "%.2g";
  std::snprintf(text, sizeof text, format, rate);
  return text;
}

std::string format_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::string& cell : header) widths.push_back(cell.size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  auto is_number = [](const std::string& cell) {
    return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) || cell[0] == '-');
  };
  auto line = [&](const std::vector<std::string>& cells, const std::vector<std::string>* align) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      std::string pad(widths[i] - cells[i].size(), ' ');
      bool right = align && i < align->size() && is_number((*align)[i]);
      text += (i ? "  " : "") + (right ? pad + cells[i] : cells[i] + pad);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text + "\n";
  };
  std::string text = line(header, rows.empty() ? nullptr : &rows[0]);
  for (const auto& row : rows) text += line(row, &row);
  return text;
}

}  // namespace tcc::tools
