#include "tools/track/report_options.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "support/error.h"
#include "support/file.h"
#include "tools/program.h"
#include "tools/track/report_google.h"
#include "tools/track/report_html.h"
#include "tools/track/report_json.h"
#include "tools/track/report_junit.h"
#include "tools/track/report_markdown.h"
#include "tools/track/report_sarif.h"

namespace tcc::tools {
namespace {

using Reports = std::span<const TrackReport>;

struct Form {
  const char* option;
  const char* help;
  std::string ReportOptions::*file;
  std::string (*text)(Reports reports);
};

std::string results(Reports reports) {
  constexpr JsonWriter::Style kStyle = JsonWriter::Style::indented;
  return (reports.size() == 1 ? report_json(reports[0], kStyle) : reports_json(reports, kStyle)) +
         "\n";
}

// Every form, in the order of --help.
const Form kForms[] = {
    {"--results", "everything, as JSON", &ReportOptions::results, results},
    {"--html", "a page of cases, kernels and histories", &ReportOptions::html, track_report_page},
    {"--markdown", "for the comment on a pull or merge request", &ReportOptions::markdown,
     [](Reports reports) { return report_markdown(reports); }},
    {"--junit", "a test for each case, for the page of a pipeline", &ReportOptions::junit,
     report_junit},
    {"--sarif", "what became worse, for code scanning", &ReportOptions::sarif, report_sarif},
    {"--google-benchmark", "the times of the head, as Google Benchmark's JSON",
     &ReportOptions::google_benchmark,
     [](Reports reports) { return report_google_benchmark(reports, ReportSide::head); }},
    {"--google-benchmark-base", "those of the base", &ReportOptions::google_benchmark_base,
     [](Reports reports) { return report_google_benchmark(reports, ReportSide::base); }},
};

}  // namespace

void add_report_options(CLI::App& app, ReportOptions& options) {
  for (const Form& form : kForms)
    app.add_option(form.option, options.*form.file, str(form.help, "; - is standard output"));
}

void check_report_options(const ReportOptions& options) {
  std::set<std::string> places;
  for (const Form& form : kForms) {
    const std::string& file = options.*form.file;
    if (file.empty()) continue;
    if (!places.insert(file).second)
      fail_input(form.option, " ", file, ": another report goes there too");
    if (file != "-") check_can_write(form.option, file);
  }
}

bool prints_report(const ReportOptions& options) {
  return std::any_of(std::begin(kForms), std::end(kForms),
                     [&](const Form& form) { return options.*form.file == "-"; });
}

bool writes_report(const ReportOptions& options) {
  return std::any_of(std::begin(kForms), std::end(kForms),
                     [&](const Form& form) { return !(options.*form.file).empty(); });
}

void write_reports(const TrackReport& report, const ReportOptions& options) {
  write_reports(std::span(&report, 1), options);
}

void write_reports(std::span<const TrackReport> reports, const ReportOptions& options) {
  for (const Form& form : kForms) {
    const std::string& file = options.*form.file;
    if (file.empty()) continue;
    const std::string text = form.text(reports);
    if (file == "-")
      std::cout << text << std::flush;
    else
      write_file_atomic(file, text);
  }
}

}  // namespace tcc::tools
