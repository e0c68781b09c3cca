#include "tools/program.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <system_error>

#include "ir/dtype.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::tools {

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::cerr << app.get_name() << ": " << error.what() << "; see --help\n";
    return static_cast<int>(ErrorKind::bad_input);
  }
  try {
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

std::map<std::string, int64_t, std::less<>> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t, std::less<>> dims;
  for (const std::string& text : texts) {
    const size_t equal = text.find('=');
    const char* end = text.data() + text.size();
    int64_t value = -1;
    std::from_chars_result parsed{end, std::errc::invalid_argument};
    if (equal != std::string::npos) parsed = std::from_chars(text.data() + equal + 1, end, value);
    if (parsed.ec == std::errc::result_out_of_range) fail_input("--dim ", text, ": is too large");
    if (equal == 0 || parsed.ec != std::errc() || parsed.ptr != end || value < 0)
      fail_input("--dim ", text, ": must be NAME=NUMBER");
    if (!dims.emplace(text.substr(0, equal), value).second)
      fail_input("--dim ", text, ": given twice");
  }
  return dims;
}

DType parse_dtype_option(const std::string& text) {
  auto dtype = parse_dtype(text);
  if (!dtype || !is_float(*dtype)) fail_input("--dtype ", text, ": must be f32, f16, bf16 or f64");
  return *dtype;
}

bool log_enabled(std::string_view name) {
  const char* value = std::getenv("TCC_LOGS");
  std::string list = value ? std::string(",") + value + "," : "";
  return list.find("," + std::string(name) + ",") != std::string::npos;
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
