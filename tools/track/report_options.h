// Commands of tcc-track write their reports by these options.
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/track/report.h"

namespace tcc::tools {

// Files; "-" is standard output, "" is none.
struct ReportOptions {
  std::string results, html, markdown, junit, sarif;
  std::string google_benchmark, google_benchmark_base;
};
void add_report_options(CLI::App& app, ReportOptions& options);

// Must be called before long work. Throws Error(bad_input) where a file could not be written, or
// two forms go to one place.
void check_report_options(const ReportOptions& options);
// Returns whether a form goes to standard output, which must then hold nothing else.
bool prints_report(const ReportOptions& options);

// Returns whether any form is asked for.
bool writes_report(const ReportOptions& options);

void write_reports(const TrackReport& report, const ReportOptions& options);
// Writes several reports; every form can hold several.
void write_reports(std::span<const TrackReport> reports, const ReportOptions& options);

}  // namespace tcc::tools
