// tcc-track resample finds how often comparisons with the noise of saved ones are right.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/tune/commands.h"

namespace tcc::tools {

Command add_resample(CLI::App& app);

}  // namespace tcc::tools
