#include "tools/track/resample.h"

#include <cmath>
#include <iostream>
#include <map>
#include <random>

#include "support/error.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/track/report_json.h"

namespace tcc::tools {
namespace {

struct ResampleCommandOptions {
  std::vector<std::string> files;
  size_t runs = 100, seed = 1;
  double change_percent = 0, false_alarms_percent = 5;
};

// The logarithms of head over base of a case's blocks, apart by which of the two came first.
struct Recorded {
  std::string name;
  std::vector<double> logs[2];
  double seconds = 0;
};

// A library against itself: the truth is no change, so that each case's mean is taken out. What is
// left is its noise, with the order's effect.
std::vector<Recorded> recorded_of(const std::vector<TrackReport>& reports) {
  std::map<std::string, Recorded> by_name;
  for (const TrackReport& report : reports)
    for (const ReportedCase& one : report.cases)
      for (const Quantity& quantity : one.quantities) {
        if (quantity.name != "time") continue;
        const size_t blocks = std::min(quantity.base_samples.size(), quantity.head_samples.size());
        Recorded& recorded = by_name[one.name];
        recorded.name = one.name;
        for (size_t i = 0; i < blocks; ++i) {
          const double base = quantity.base_samples[i], head = quantity.head_samples[i];
          if (!(base > 0 && head > 0)) continue;
          recorded.logs[i % 2].push_back(std::log(head / base));
          recorded.seconds = base;
        }
      }
  std::vector<Recorded> all;
  for (auto& [name, recorded] : by_name) {
    if (recorded.logs[0].size() < 3 || recorded.logs[1].size() < 3) continue;
    double means[2] = {0, 0};
    for (const int order : {0, 1})
      for (const double value : recorded.logs[order])
        means[order] += value / static_cast<double>(recorded.logs[order].size());
    for (auto& logs : recorded.logs)
      for (double& value : logs) value -= (means[0] + means[1]) / 2;
    all.push_back(std::move(recorded));
  }
  if (all.empty()) fail_input("the results have no case with three blocks of either order");
  return all;
}

class Replay {
 public:
  Replay(const ResampleCommandOptions& options, std::vector<Recorded> cases, double smallest)
      : random_(options.seed),
        cases_(std::move(cases)),
        comparison_({.false_alarms = options.false_alarms_percent / 100, .smallest = smallest}) {
    for (const Recorded& one : cases_) names_.push_back(one.name);
  }

  // One run in which the case `planted` is slower by `change`; none where it is beyond the end.
  std::vector<track::CaseResult> run(size_t planted, double change) {
    std::vector<size_t> blocks(cases_.size());
    return comparison_.run(names_, [&](size_t i) {
      const std::vector<double>& logs = cases_[i].logs[blocks[i]++ % 2];
      const double log = logs[random_() % logs.size()] + (i == planted ? std::log1p(change) : 0);
      return track::Block{{cases_[i].seconds, cases_[i].seconds * std::exp(log)}};
    });
  }
  size_t draw(size_t count) { return random_() % count; }
  size_t size() const { return cases_.size(); }

 private:
  std::mt19937_64 random_;
  std::vector<Recorded> cases_;
  std::vector<std::string> names_;
  track::Comparison comparison_;
};

bool is_change(const track::CaseResult& result) {
  return result.verdict == track::CaseResult::Verdict::slower ||
         result.verdict == track::CaseResult::Verdict::faster;
}

int resample_main(const ResampleCommandOptions& options) {
  std::vector<TrackReport> reports;
  for (const std::string& file : options.files)
    for (TrackReport& report : read_reports(file)) reports.push_back(std::move(report));
  if (reports.empty()) fail_input("the files hold no report");
  const double smallest = reports.front().smallest;
  const double change = options.change_percent > 0 ? options.change_percent / 100 : smallest;
  Replay replay(options, recorded_of(reports), smallest);
  size_t alarms = 0;
  std::vector<size_t> measurable;
  for (size_t r = 0; r < options.runs; ++r) {
    const std::vector<track::CaseResult> results = replay.run(replay.size(), 0);
    alarms += std::any_of(results.begin(), results.end(), is_change);
    if (r > 0) continue;
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].verdict == track::CaseResult::Verdict::same) measurable.push_back(i);
  }
  std::cout << "of " << options.runs << " runs of " << replay.size() << " cases without a change, "
            << alarms << " reported one (at most " << options.false_alarms_percent
            << " % are expected)\n";
  if (measurable.empty()) {
    std::cout << "no case sees a change of " << 100 * smallest << " %\n";
    return 0;
  }
  size_t found = 0, others = 0;
  for (size_t r = 0; r < options.runs; ++r) {
    const size_t planted = measurable[replay.draw(measurable.size())];
    const std::vector<track::CaseResult> results = replay.run(planted, change);
    found += results[planted].verdict == track::CaseResult::Verdict::slower;
    for (size_t i = 0; i < results.size(); ++i)
      if (i != planted && is_change(results[i])) {
        ++others;
        break;
      }
  }
  std::cout << "of " << options.runs << " runs with a change of " << 100 * change
            << " % in one of the " << measurable.size() << " cases that are measurable, " << found
            << " found it, " << others << " reported another\n";
  return 0;
}

}  // namespace

Command add_resample(CLI::App& program) {
  auto options = std::make_shared<ResampleCommandOptions>();
  CLI::App* app = program.add_subcommand(
      "resample",
      "How often comparisons are right that have the noise of a saved one: runs are "
      "drawn from the blocks of calibrate's --results.");
  app->add_option("RESULTS", options->files, "from calibrate --results; several are one")
      ->required()
      ->check(CLI::ExistingFile);
  app->add_option("--runs", options->runs, "drawn, with a planted change and without")
      ->check(number_in(1, 1000000))
      ->capture_default_str();
  app->add_option("--change", options->change_percent,
                  "that is planted, in percent; else the results' --smallest");
  app->add_option("--false-alarms", options->false_alarms_percent, "as of compare")
      ->check(number_in(0.001, 50.0))
      ->capture_default_str();
  app->add_option("--seed", options->seed, "of what is drawn")->capture_default_str();
  return {app, [options] { return resample_main(*options); }};
}

}  // namespace tcc::tools
