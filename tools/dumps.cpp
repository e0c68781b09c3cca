#include "tools/dumps.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <vector>

#include "backends/pipeline.h"
#include "ir/suggest.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::tools {
namespace {

void check_stage(const std::string& stage) {
  const std::vector<std::string_view> stages = backends::stage_names();
  if (stage == "all" || std::ranges::find(stages, stage) != stages.end()) return;
  std::string list;
  for (std::string_view known : stages) list += (list.empty() ? "" : ", ") + std::string(known);
  const std::vector<std::string> names(stages.begin(), stages.end());
  fail_input("--dump-after ", stage, ": no such stage", ir::did_you_mean(stage, names), " (", list,
             ")");
}

// "03_simplify.txt": in the stages' order.
std::string file_name(std::string_view stage) {
  const std::vector<std::string_view> stages = backends::stage_names();
  const auto number = std::ranges::find(stages, stage) - stages.begin();
  char text[16];
  std::snprintf(text, sizeof text, "%02d_", static_cast<int>(number));
  return text + std::string(stage) + ".txt";
}

}  // namespace

void add_dump_options(CLI::App& app, DumpOptions& options) {
  app.add_option("--dump-after", options.after, "print the state after a stage, or 'all'");
  app.add_option("--dump-to", options.to,
                 "write what --dump-after prints into this folder, a file per stage");
  app.add_flag("--explain-fusion", options.explain_fusion,
               "say for every two neighbouring kernels why they are not one");
}

DumpFunction dump_function(const DumpOptions& options, bool json) {
  if (options.after.empty()) {
    if (!options.to.empty()) fail_input("--dump-to: needs --dump-after");
    return nullptr;
  }
  check_stage(options.after);
  const std::filesystem::path folder = options.to;
  if (!folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) fail_input("--dump-to ", options.to, ": ", error.message());
  }
  std::ostream& stream = json ? std::cerr : std::cout;
  return [after = options.after, folder, &stream](std::string_view stage, const std::string& text) {
    if (stage != after && after != "all") return;
    if (folder.empty())
      stream << "// ---- after " << stage << "\n" << text << "\n";
    else
      write_file_atomic(folder / file_name(stage), text);
  };
}

std::function<void(const std::string& line)> explain_function(const DumpOptions& options,
                                                              bool json) {
  if (!options.explain_fusion) return nullptr;
  std::ostream& stream = json ? std::cerr : std::cout;
  return [&stream](const std::string& line) { stream << line << "\n"; };
}

}  // namespace tcc::tools
