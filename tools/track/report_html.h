// Writes reports of tcc-track as one HTML page that needs no network (docs/tracking.md).
#pragma once

#include <span>
#include <string>

#include "tools/track/report.h"

namespace tcc::tools {

// A fault of the page's script shows in the document's title, "report error: ...".
std::string track_report_page(std::span<const TrackReport> reports);

}  // namespace tcc::tools
