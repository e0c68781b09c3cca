// Makes histories of stored runs: by machine, case and quantity.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/track/read_runs.h"
#include "tools/track/rules.h"

namespace tcc::tools {

struct HistoryChoices {
  std::vector<std::string> cases = {},
                           machines = {};  // those that hold one of these words; empty: all
  std::string machine = {};                // this one alone; "": all
  std::string since = {};                  // runs from this date on: "2026-11-01"
  std::string until = {};                  // runs up to the one of this name; "": all
  bool by_commit = false;  // in the order of the commits' dates, where runs have them
  bool kernels = false;    // times of kernels, too
  bool any_work = false;   // levels go on where the work of a case changed
};

struct Series {
  struct Point {
    size_t run = 0;  // of the machine's
    double value = 0, low = 0, high = 0;
  };
  std::vector<Point> points;
  std::string counter;  // the rule of a counter
  // At these points the work of the case changed, or the compiler of a quantity that depends on it.
  std::vector<TrackedHistory::Break> breaks;
  size_t accepted = 0;  // the point from which on a change was accepted, or the end
  std::string note;     // why, where something was accepted

  std::vector<double> values() const;
  // The first point that judge and gates use, or the end; and the reason why it is not point 0.
  size_t counted_from() const;
  std::string why_from() const;
};

struct CaseHistory {
  // Histories by quantity; kernels' times are called "kernel NAME". Runs in which the case failed
  // or was wrong have no point.
  std::map<std::string, Series> quantities;
  TrackedCase last;                           // without samples
  size_t last_run = 0;                        // the one that has it
  std::vector<TrackedKernel> kernels_before;  // of the run before that one
  // The work by run, where it is known.
  std::vector<std::pair<size_t, std::string>> works;
};

struct MachineHistory {
  std::string machine;
  std::vector<TrackedRun> runs;  // in order
  std::map<std::string, CaseHistory> cases;
};

// Throws Error(bad_input) where nothing is left.
std::vector<MachineHistory> load_histories(const Store& store, const HistoryChoices& choices,
                                           Damage& damage);

// Covers all runs.
std::set<std::string> case_names(const Store& store);
// "did you mean 'x'?" or "there are 'x', 'y'".
std::string known_names(const std::string& wanted, const std::set<std::string>& names);

// Finds changes: of a noisy quantity by statistics (none of values that are not positive), of an
// exact one where the value differs from the one before it, of one with a factor where it is beyond
// that.
std::vector<track::Change> changes_of(const Rule& rule, const std::vector<double>& values,
                                      double false_alarms);
// Does the same from a point on, for each stretch between breaks; the rate of false alarms is
// shared between them.
std::vector<track::Change> changes_of(const Rule& rule, const Series& series, size_t from,
                                      double false_alarms);
bool is_worse(const Rule& rule, const track::Change& change);

// "step of +5.1 % at run 45 of 60, 2026-11-20, abc1234..def5678, driver 550 -> 580"; nothing that
// changed but the code is left out.
std::string describe(const track::Change& change, const TrackedHistory& history,
                     const Series& series, const MachineHistory& machine);
// "the work changed, 2026-11-20, abc1234..def5678".
std::string describe(const TrackedHistory::Break& one, const Series& series,
                     const MachineHistory& machine);

}  // namespace tcc::tools
