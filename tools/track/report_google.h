// Writes the times of a report as Google Benchmark's JSON, for tools that read it: compare.py,
// github-action-benchmark, Bencher.
#pragma once

#include <span>
#include <string>

#include "tools/track/report.h"

namespace tcc::tools {

enum class ReportSide { base, head };

// A benchmark for each quantity in seconds: the case's name for "time", NAME/QUANTITY for another.
// Counts stand as counters beside the first. A case without a time is left out.
std::string report_google_benchmark(std::span<const TrackReport> reports, ReportSide side);

}  // namespace tcc::tools
