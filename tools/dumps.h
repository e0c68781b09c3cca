// --dump-after and --dump-to: the state after stages of the compiler, as text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace tcc::tools {

struct DumpOptions {
  std::string after;  // a stage, "all", or "": nothing
  std::string to;     // a folder; "": the stream
};
void add_dump_options(CLI::App& app, DumpOptions& options);

// The function for backends::CompileOptions::dump; null without --dump-after. Without a folder
// dumps go to standard output, or to standard error where `json` is printed there. Throws
// Error(bad_input) for a stage that there is not, and a folder that cannot be made.
using DumpFunction = std::function<void(std::string_view stage, const std::string& text)>;
DumpFunction dump_function(const DumpOptions& options, bool json);

}  // namespace tcc::tools
