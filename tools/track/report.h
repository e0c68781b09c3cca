// The findings of tcc-track, in the form that every report is written from: a comparison of two
// builds, a run against its history, or a history alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tcc/track.hpp"

namespace tcc::tools {

// One quantity of one case. Less is better for all of them.
struct Quantity {
  enum class Verdict {
    same,
    better,
    worse,
    unmeasurable,  // no change was found, and one of the asked size could have been missed
    failed,        // the case did not run, or its result is wrong
    not_judged,    // there was nothing to hold it against
  };
  std::string name;                  // "time", "compile time", "launches", "arena bytes", ...
  std::string unit;                  // "s", "bytes", "" for counts and ratios
  std::optional<double> base, head;  // empty: not known
  // Medians of blocks, in the order of measuring; empty for what is counted.
  std::vector<double> base_samples, head_samples;
  std::optional<track::Effect> effect;  // where blocks of pairs were compared
  std::optional<double> p;              // corrected for the number of cases
  std::optional<double> visible;        // the smallest relative change that would have been seen
  std::optional<double> budget;         // what `head` may be at most
  bool over_budget = false;
  bool gates = true;  // `worse`, `failed` and `over_budget` make the program's exit code 1
  Verdict verdict = Verdict::same;
  std::string reason;  // in words, for people
};
std::string_view name(Quantity::Verdict verdict);  // "same", "better", ...
// Returns whether this quantity makes the exit code of a gate 1.
bool is_breach(const Quantity& quantity);

struct TrackedKernel {
  std::string region;  // "linear_gelu"
  std::vector<std::string> layers;
  std::string kernel_template, config, tier;
  std::string key;     // a hash of what it computes, and for which target
  std::string source;  // a hash of its source text
  int64_t launches = 0;
  std::optional<double> seconds;    // of one launch
  std::optional<double> low, high;  // its 95 % interval
  double bytes = 0, flops = 0;      // of one launch
  std::optional<double> roofline;   // least time over time
};

// One quantity of one case over stored runs, the oldest first.
struct TrackedHistory {
  struct Point {
    std::string run, commit, date;  // the run's name in the store; UTC
    double value = 0;
    double low = 0, high = 0;  // 95 % interval; both equal to the value where there is none
  };
  // From this point on, values are not compared with those before it.
  struct Break {
    size_t point = 0;
    std::string why;  // "the work changed"
  };
  std::string quantity, unit;
  std::vector<Point> points;
  std::vector<track::Change> changes;  // numbers of points
  std::vector<Break> breaks = {};      // in order
};

struct ReportedCase {
  std::string name;
  std::string file;  // the suite, and the line of the case in it
  int line = 0;
  std::vector<Quantity> quantities;  // "time" first
  std::vector<TrackedKernel> base_kernels, head_kernels;
  std::vector<TrackedHistory> histories;
};

struct TrackReport {
  struct Side {
    std::string label;  // a path, a commit or a run in the store; empty: there is none
    std::string version, commit, date;
  };
  std::string command, date;    // how and when the report was made; UTC
  std::string version, commit;  // of the program
  std::string device, description, driver, target;
  Side base, head;
  double false_alarms = 0.05, smallest = 0.01, power = 0.95;
  double seconds = 0;  // that measuring took
  std::vector<ReportedCase> cases;
  std::vector<std::string> notes;  // damage in the store, throttling, an interruption

  bool passes() const;  // no quantity that gates is worse, failed or over its budget
};

}  // namespace tcc::tools
