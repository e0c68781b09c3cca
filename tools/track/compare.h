// tcc-track compare and calibrate measure two libraries, or one and its copy, on a suite.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/tune/commands.h"

namespace tcc::tools {

Command add_compare(CLI::App& app);
Command add_calibrate(CLI::App& app);

}  // namespace tcc::tools
