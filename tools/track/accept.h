// tcc-track accept: an intended change, after which judge and a gate count from there.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/tune/commands.h"

namespace tcc::tools {

Command add_accept(CLI::App& program);

}  // namespace tcc::tools
