// Compares two libraries on the cases of suites, from the options to the report. compare,
// calibrate, bisect and explain use it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tcc/track.hpp"
#include "tools/track/duel.h"
#include "tools/track/report.h"

namespace tcc::tools {

struct CompareChoices {
  std::vector<std::string> suites, filters, tuning;
  std::string device = "auto";
  std::vector<std::string> judged;  // "time", "counts", "compile-time"; empty: the first two
  double smallest_percent = 1, smallest_compile_percent = 10, false_alarms_percent = 5;
  size_t most_blocks = 48;
  double limit = 600;  // seconds, of one block

  bool judges(const std::string& what) const;
};

// SUITE..., --device, --filter, --tuning, --only, --smallest, --false-alarms, --most-blocks,
// --limit.
void add_compare_choices(CLI::App& app, CompareChoices& choices);

// The cases that two libraries are compared on.
struct ComparedCases {
  std::vector<TrackCase> graphs;
  std::string left_out;  // "1 kernel and 2 commands"; "": nothing
};
// Returns the cases of all suites that the filter leaves. Throws Error(bad_input) where none is
// left or two have one name.
ComparedCases cases_of(const CompareChoices& choices);

class Comparing {
 public:
  // Libraries, as Library takes them. Throws Error(bad_input) where one is none.
  Comparing(const CompareChoices& choices, const ComparedCases& cases, const std::string& base,
            const std::string& head);

  // Measures the quantities that are judged, and prints the progress on standard error. At Ctrl-C
  // it ends early, with the results so far.
  void run();
  bool interrupted() const;
  // Returns the results of the times; empty where they are not judged.
  const std::vector<track::CaseResult>& times() const { return times_; }
  const Duels& duels() const { return duels_; }
  // Times the kernels of a case, even of one that the report calls the same.
  void time_kernels(size_t number) { duels_.time_kernels(number); }
  // The kernels of changed cases have their times.
  TrackReport report();

 private:
  std::vector<track::CaseResult> compare(Duels& duels, const char* unit, double smallest_percent,
                                         const std::function<track::Block(size_t)>& measure);
  ReportedCase reported(size_t number);
  void add_counts(const Duels::Case& one, ReportedCase& reported) const;

  CompareChoices choices_;
  TrackReport head_;  // all of a report but its cases
  Duels duels_, compilations_;
  std::vector<track::CaseResult> times_, compile_times_;
  std::vector<std::string> failures_;  // by case, where nothing is measured
  double seconds_ = 0;
};

std::vector<TrackedKernel> kernels_of(const Duels::Side& side);

// A table of the report's cases, and its last line.
std::string compare_table(const TrackReport& report);

}  // namespace tcc::tools
