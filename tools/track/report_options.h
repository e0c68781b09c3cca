// The options by which commands of tcc-track write their reports.
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

// To be called before long work. Throws Error(bad_input) where a file could not be written, or two
// forms go to one place.
void check_report_options(const ReportOptions& options);
// Whether a form goes to standard output, which must then hold nothing else.
bool prints_report(const ReportOptions& options);

// Whether there is any.
bool writes_report(const ReportOptions& options);

void write_reports(const TrackReport& report, const ReportOptions& options);
// Writes several, which every form holds as one.
void write_reports(std::span<const TrackReport> reports, const ReportOptions& options);

}  // namespace tcc::tools
