// tcc-track run measures the cases of suites, and adds one run to the store.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/tune/commands.h"

namespace tcc::tools {

Command add_run(CLI::App& program);

}  // namespace tcc::tools
