// Writes and reads a report of tcc-track as JSON (docs/track-report.schema.json), the form that
// keeps all of it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/json_writer.h"
#include "tools/track/report.h"

namespace tcc::tools {

inline constexpr int kTrackReportSchema = 1;

// No "<" stands in the text, so that it may stand in a script element. NaN and infinities, which
// JSON lacks, are null.
std::string report_json(const TrackReport& report, JsonWriter::Style style);
// Several reports become a list.
std::string reports_json(std::span<const TrackReport> reports, JsonWriter::Style style);

// Throws Error(bad_input) as "NAME: cases[3].name: must be a text" for whatever is not such a
// report: `text` may come from anyone.
TrackReport parse_report(std::string_view text, const std::string& name);
// One report, or a list of them.
std::vector<TrackReport> parse_reports(std::string_view text, const std::string& name);
std::vector<TrackReport> read_reports(const std::filesystem::path& file);

}  // namespace tcc::tools
