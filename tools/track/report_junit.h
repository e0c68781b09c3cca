// Reports of tcc-track as JUnit's XML, as Jenkins' junit-10.xsd has it: a suite for each report, a
// test for each case.
#pragma once

#include <span>
#include <string>

#include "tools/track/report.h"

namespace tcc::tools {

// A case fails where a quantity that gates is worse, failed or over its budget. It is skipped where
// one that gates is unmeasurable, or all are not judged, and none fails. Every figure stands in the test's output.
std::string report_junit(std::span<const TrackReport> reports);

}  // namespace tcc::tools
