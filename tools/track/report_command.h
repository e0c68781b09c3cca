// tcc-track report makes any form of reports from saved results.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/tune/commands.h"

namespace tcc::tools {

Command add_report(CLI::App& program);

}  // namespace tcc::tools
