// tcc-track bisect finds the commit that made a case slower.
#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <functional>
#include <optional>

#include "tools/tune/commands.h"

namespace tcc::tools {

// Number `count` - 1 of the commits is bad, and the one before number 0 is good. Halves the range
// between; instead of a commit that cannot be judged, the nearest one that can is taken.
struct Narrowed {
  size_t first = 0, last = 0;  // the first bad commit is one of these
};
// `is_bad` returns nothing for a commit that cannot be judged. It is not called for number `count`
// - 1.
Narrowed narrow(size_t count, const std::function<std::optional<bool>(size_t)>& is_bad);

Command add_bisect(CLI::App& app);

}  // namespace tcc::tools
