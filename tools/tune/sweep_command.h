// tcc-tune without a subcommand: tunes the kernels of graphs, or replays a trial log.
#pragma once

#include "tools/tune/options.h"

namespace tcc::tools {

// Returns the exit code: 130 after SIGINT or SIGTERM, with what is known written. Throws Error.
// `given` are the options of the command line, for reports.
int sweep_main(const SweepOptions& options,
               const std::vector<std::pair<std::string, std::string>>& given);

}  // namespace tcc::tools
