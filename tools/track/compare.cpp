#include "tools/track/compare.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "support/error.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/track/comparing.h"
#include "tools/track/report_options.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

struct CompareCommandOptions {
  std::string base, head;
  CompareChoices choices;
  ReportOptions reports;
};

std::vector<std::string> sources_of(const std::vector<TrackedKernel>& kernels) {
  std::vector<std::string> sources;
  for (const TrackedKernel& kernel : kernels) sources.push_back(kernel.source);
  return sources;
}

int finish(const CompareCommandOptions& options, const Comparing& comparing,
           const TrackReport& report) {
  std::ostream& out = prints_report(options.reports) ? std::cerr : std::cout;
  for (const std::string& note : report.notes) out << printable(note) << "\n";
  write_reports(report, options.reports);
  return report.passes() && !comparing.interrupted() ? 0 : 1;
}

int compare_main(const CompareCommandOptions& options) {
  check_report_options(options.reports);
  if (find_library(options.base) == find_library(options.head))
    fail_input(options.base,
               ": is both base and head; tcc-track calibrate compares a library with itself");
  Comparing comparing(options.choices, cases_of(options.choices), options.base, options.head);
  comparing.run();
  const TrackReport report = comparing.report();
  std::ostream& out = prints_report(options.reports) ? std::cerr : std::cout;
  out << compare_table(report) << summary(report) << "\n" << method(report) << "\n";
  return finish(options, comparing, report);
}

// Estimates from the blocks of this run how large a change is seen in how many cases.
std::string visible_text(const std::vector<track::CaseResult>& results) {
  std::vector<std::pair<double, std::string>> visible;
  for (const track::CaseResult& result : results)
    if (result.visible > 0) visible.emplace_back(result.visible, result.name);
  if (visible.empty()) return "";
  std::sort(visible.begin(), visible.end());
  const auto percent_at = [&](double share) {
    const auto place = static_cast<size_t>(std::ceil(share * static_cast<double>(visible.size())));
    return change_text(1 + visible[place - 1].first).substr(1);
  };
  return str("By the noise of these blocks, compare would see with 95 %: a change of ",
             percent_at(0.5), " in half of the cases, of ", percent_at(0.9), " in nine tenths, of ",
             percent_at(1), " in all (", printable(visible.back().second),
             " is the noisiest). --smallest says which of them ", "is asked for.\n");
}

int calibrate_main(const CompareCommandOptions& options) {
  check_report_options(options.reports);
  const LibraryCopy copy(options.base);
  Comparing comparing(options.choices, cases_of(options.choices), options.base,
                      copy.path().string());
  comparing.run();
  const TrackReport report = comparing.report();
  for (const ReportedCase& one : report.cases)
    if (sources_of(one.base_kernels) != sources_of(one.head_kernels))
      throw InternalError(one.name + ": the copy of the library compiles it to other kernels");
  size_t alarms = 0;
  for (const track::CaseResult& result : comparing.times())
    alarms += result.verdict == track::CaseResult::Verdict::slower ||
              result.verdict == track::CaseResult::Verdict::faster;
  std::ostream& out = prints_report(options.reports) ? std::cerr : std::cout;
  out << compare_table(report) << "A library against itself: " << alarms << " of "
      << comparing.times().size() << " cases reported a change.\n"
      << visible_text(comparing.times());
  return finish(options, comparing, report);
}

}  // namespace

Command add_compare(CLI::App& program) {
  auto options = std::make_shared<CompareCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "compare", "Two builds of tcc against each other, side by side on one device.");
  app->add_option("BASE", options->base, "libtcc-core.so, a build folder or an installation")
      ->required();
  app->add_option("HEAD", options->head, "the same, of what is to be judged")->required();
  add_compare_choices(*app, options->choices);
  add_report_options(*app, options->reports);
  return {app, [options] { return compare_main(*options); }};
}

Command add_calibrate(CLI::App& program) {
  auto options = std::make_shared<CompareCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "calibrate", "A build of tcc against itself: what can be seen on this machine.");
  app->add_option("LIBRARY", options->base, "libtcc-core.so, a build folder or an installation")
      ->required();
  add_compare_choices(*app, options->choices);
  add_report_options(*app, options->reports);
  return {app, [options] { return calibrate_main(*options); }};
}

}  // namespace tcc::tools
