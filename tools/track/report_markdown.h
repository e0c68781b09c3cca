// Writes a report of tcc-track as Markdown for the comment on a pull or merge request.
#pragma once

#include <span>
#include <string>

#include "tools/track/report.h"

namespace tcc::tools {

// GitHub takes 65,536 characters; some are left for what a workflow adds.
inline constexpr size_t kMaxMarkdown = 60'000;  // bytes

// The verdict comes first, then the changes; the rest is folded. The first line is a comment by
// which a workflow finds the text again. Rows that would make it longer than `most` bytes are left
// out, and counted. Names can neither mark up the text nor mention anyone.
std::string report_markdown(std::span<const TrackReport> reports, size_t most = kMaxMarkdown);

}  // namespace tcc::tools
