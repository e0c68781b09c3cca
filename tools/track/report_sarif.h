// Writes the quantities that gate and did not pass as SARIF 2.1.0, for code scanning on GitHub and
// for editors.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "tools/track/report.h"

namespace tcc::tools {

// A run for each report, a result for each quantity that is worse, failed or over its budget, at
// the case's line in its suite. A quantity that does not gate is a warning.
std::string report_sarif(std::span<const TrackReport> reports);

// Returns a URI that is relative to the root of the git work tree which holds the file. For a file
// outside of any work tree, or a missing one, it returns the path as it is.
std::string repository_uri(const std::filesystem::path& file);

}  // namespace tcc::tools
