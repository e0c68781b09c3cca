// --dump-after, --dump-to and --explain-fusion print what the compiler did.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace tcc::tools {

struct DumpOptions {
  std::string after;  // a stage, "all", or "": nothing
  std::string to;     // a folder; "": the stream
  bool explain_fusion = false;
};
void add_dump_options(CLI::App& app, DumpOptions& options);

// Returns the function for backends::CompileOptions::dump; null without --dump-after. Without a
// folder dumps go to standard output, or to standard error where `json` is printed there. Throws
// Error(bad_input) for an unknown stage, and for a folder that cannot be made.
using DumpFunction = std::function<void(std::string_view stage, const std::string& text)>;
DumpFunction dump_function(const DumpOptions& options, bool json);
// Returns the function for backends::CompileOptions::explain_fusion, which prints to the same
// stream as dumps; null without --explain-fusion.
std::function<void(const std::string& line)> explain_function(const DumpOptions& options,
                                                              bool json);

}  // namespace tcc::tools
