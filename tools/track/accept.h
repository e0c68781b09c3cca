// tcc-track accept records an intended change; judge and gates then compare with runs since that
// change.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/tune/commands.h"

namespace tcc::tools {

Command add_accept(CLI::App& program);

}  // namespace tcc::tools
