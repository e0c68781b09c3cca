#include "tools/track/report_command.h"

#include <iostream>
#include <memory>

#include "support/error.h"
#include "tools/progress.h"
#include "tools/track/report_json.h"
#include "tools/track/report_options.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

struct ReportCommandOptions {
  std::vector<std::string> files;
  ReportOptions reports;
};

int report_main(const ReportCommandOptions& options) {
  check_report_options(options.reports);
  std::vector<TrackReport> reports;
  for (const std::string& file : options.files)
    for (TrackReport& report : read_reports(file)) reports.push_back(std::move(report));
  if (reports.empty()) fail_input(options.files.front(), ": holds no report");
  write_reports(reports, options.reports);
  if (!prints_report(options.reports))
    for (const TrackReport& report : reports)
      std::cout << printable(title(report)) << "\n" << summary(report) << "\n";
  return 0;
}

}  // namespace

Command add_report(CLI::App& program) {
  auto options = std::make_shared<ReportCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "report", "Writes reports of results that compare, run or history saved with --results.");
  app->add_option("RESULTS", options->files, "files that --results wrote, .json")
      ->required()
      ->check(CLI::ExistingFile);
  add_report_options(*app, options->reports);
  return {app, [options] { return report_main(*options); }};
}

}  // namespace tcc::tools
