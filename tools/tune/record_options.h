// The subcommands about tuning files share these options.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "autotune/records.h"
#include "scheduler/target.h"

namespace tcc::tools {

// The kernels are those of a device that is here, or of one that is only described.
struct TargetOptions {
  std::string device = "auto", target;
};
void add_target_options(CLI::App& app, TargetOptions& options);
// Throws Error(no_device) or Error(bad_input).
sched::Target target_of(const TargetOptions& options);

// Reads the records of `paths` alone, merged. Warnings go to the log; throws Error(bad_input) for a
// path that does not exist.
autotune::RecordStore join_records(const std::vector<std::string>& paths);

// Warns through the log hook, like the library.
void log_tuning_warning(const std::string& text);

}  // namespace tcc::tools
