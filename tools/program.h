// Every tool's main() shares this: exit codes, one-line errors, devices by name.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "backends/pipeline.h"
#include "ir/equal_dims.h"
#include "ir/graph.h"
#include "ir/size_range.h"
#include "runtime/device.h"

namespace tcc::tools {

// Adds --version, parses the command line and runs `body`; maps errors to the exit codes of
// support/error.h, one line on stderr. The library's warnings, and the logs that TCC_LOGS names, go
// to stderr.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

// Prints what the library logs (warnings, and the channels of TCC_LOGS) as lines "PROGRAM: warning:
// ...": on stderr, or through `say`, without the newline.
void log_as_lines(const std::string& program,
                  const std::function<void(const std::string&)>& say = {});

// Values of --dim: numbers, ranges of the dims that stay open, and expressions of other dims.
struct DimOptions {
  std::map<std::string, int64_t, std::less<>> numbers;
  ir::SizeRanges open;
  ir::DimExpressions equal;
};
// Parses "B=8", "S=1..2048", "S=8..2048:8", "S=free" and "T=S+1".
DimOptions parse_dims(const std::vector<std::string>& texts);
// The same where `option` takes numbers alone; `why` says for what.
std::map<std::string, int64_t, std::less<>> parse_numbers(const std::vector<std::string>& texts,
                                                          const std::string& option,
                                                          const std::string& why);
// Fails for a dim that the graph lacks, and lists the graph's dims.
void check_dims(const backends::CompileOptions& options, const ir::Graph& graph);

// Returns whether the user means a package: by the file's ending, or by how it begins.
bool is_for_package(const std::string& file);
// Throws Error(bad_input) for a package where a graph is needed.
void refuse_package(const std::string& file);

// Says on stderr, in one line, which dims of an .onnx graph have no number, so that the default
// stands for them, but for those that stay open. (A YAML graph states its defaults.)
void say_default_dims(const std::string& program, const std::string& path, const ir::Graph& graph,
                      const ir::SizeRanges& open = {});

// Says "PROGRAM: note: TEXT" on stderr, once where the same is found again: graphs and inputs are
// read for each of several sizes, and many times by a plan search.
void note_once(const std::string& program, const std::string& text);

// Throws Error(bad_input) where `option`'s file could not be written, so that long work does not
// fail at its end. "" is no file.
void check_can_write(const std::string& option, const std::filesystem::path& file);

std::string format_bytes(double bytes);      // "93.8 MiB"
std::string format_seconds(double seconds);  // "12.3 us"
// Option values that are numbers from `least` to `most`.
CLI::Validator number_in(double least, double most);

// Formats GB/s or TFLOP/s: "4061", "12.3", "0.0052"; "-" where no time passed.
std::string format_rate(double rate);

// A text table with aligned columns; numbers to the right.
std::string format_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace tcc::tools
