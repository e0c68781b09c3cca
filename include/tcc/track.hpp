// The statistics of `tcc-track` serve programs that measure by themselves: they compare A with B at
// a stated rate of false alarms, and find change points in a history. docs/tracking.md describes
// them.
//
//   tcc::track::Comparison comparison({.false_alarms = 0.05, .smallest = 0.01});
//   std::vector<tcc::track::CaseResult> results = comparison.run({"softmax", "matmul"}, measure);
//
// Times are in seconds, or in any other unit of a positive quantity where less is better. Ratios
// are head over base: 1.01 is 1 % slower.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tcc/error.hpp"

#pragma GCC visibility push(default)
namespace tcc::track {

// Two measurements that stood next to each other in time.
struct Pair {
  double base = 0, head = 0;
};
// A block is the pairs of one placement: code, buffers and contexts were set up once for all of
// them, and anew for the next block. Placement alone can change a kernel's time by a percent, for
// as long as it stays.
using Block = std::vector<Pair>;

// Returns the median; for an even number of values it is the mean of the two in the middle. Throws
// Error(bad_input) for no value.
double median_of(std::vector<double> values);

struct Effect {
  double ratio = 1;  // geometric mean of the blocks' median ratios
  double low = 0,
         high = 0;       // its 95 % interval; low is 0 and high infinite with fewer than 2 blocks
  double deviation = 0;  // standard deviation of the blocks' logarithms, around their order's mean
  std::size_t blocks = 0;
  double freedom = 0;  // degrees, of Student's t
};
// Estimates head over base by Student's t over the blocks' medians. From four blocks on, the effect
// of an order that alternates from block to block (which of the two is set up and measured first)
// is taken out. Throws Error(bad_input) for no block, an empty block or a value that is not
// positive and finite.
Effect paired_effect(std::span<const Block> blocks);

// Returns the two-sided p-value of "the ratio lies within 1 / (1 + ignored) .. 1 + ignored"; 1 with
// fewer than two blocks.
double p_value(const Effect& effect, double ignored = 0);

// Returns the probability that Student's t on `blocks` blocks of this `deviation` calls a ratio of
// 1 + `change` different at the two-sided `level`, where ratios up to 1 + `ignored` do not count.
double power(double change, double deviation, std::size_t blocks, double level, double ignored = 0);

struct CompareOptions {
  double false_alarms = 0.05;  // probability that a run without any change reports one
  double smallest = 0.01;      // the relative change that should be seen ...
  double power = 0.95;         // ... with this probability
  // Relative changes up to this are never reported: two builds of one source differ that much by
  // where their code lies. Negative: half of `smallest`.
  double ignored = -1;
  // Numbers of blocks become even: a measure may alternate which of the two comes first.
  std::size_t screening_blocks = 6;                // of every case
  double screening_level = 0.1;                    // two-sided; cases below it are measured again
  std::size_t least_blocks = 8, most_blocks = 48;  // of a case that is measured again
};

struct CaseResult {
  enum class Verdict { same, slower, faster, unmeasurable, failed };
  std::string name;
  Verdict verdict = Verdict::same;
  Effect effect;       // of the confirmation where there was one, else of the screening
  Effect screened;     // of the screening alone
  double p = 1;        // of the confirmation, corrected for the number of cases in it (Holm)
  double visible = 0;  // the smallest relative change that would have been seen with `power`
  std::string reason;  // of `unmeasurable` and `failed`
};
std::string_view name(CaseResult::Verdict verdict);  // "same", "slower", ...

// Compares many cases in two stages. The screening measures every case with few blocks; cases that
// look changed are measured again from nothing, with as many blocks as their own noise asks for.
// Verdicts come from the second, independent measurement alone, corrected by Holm's method, so that
// the false alarms of a whole run stay below `false_alarms` whatever the screening did.
class Comparison {
 public:
  // Throws Error(bad_input) for probabilities outside (0, 1) and too few blocks.
  explicit Comparison(const CompareOptions& options = {});

  // Measures one block of a case. An exception that it throws makes the case `failed`;
  // tcc::Cancelled ends the run.
  using Measure = std::function<Block(std::size_t number)>;
  // Called after each block; returning false ends the run. Where a run was ended, cases without a
  // verdict are `unmeasurable`, "interrupted".
  using Progress = std::function<bool(std::size_t blocks_done, std::size_t blocks_planned)>;
  std::vector<CaseResult> run(std::span<const std::string> names, const Measure& measure,
                              const Progress& progress = {}) const;

  // Returns the smallest relative change that is seen with the asked power, by a screening of
  // `screened` blocks and a confirmation of `blocks` together, in a run where `confirmed` cases are
  // measured again.
  double visible(double deviation, std::size_t screened, std::size_t blocks,
                 std::size_t confirmed) const;
  const CompareOptions& options() const { return options_; }

 private:
  CompareOptions options_;
};

// A place in a history where its level changed.
struct Change {
  enum class Kind { step, drift };
  Kind kind = Kind::step;
  std::size_t first = 0;  // of a step: the first run at the new level; of a drift: where it begins
  std::size_t last = 0;   // of a drift: where it ends; of a step: `first`
  double ratio = 1;       // level after over level before
};

struct HistoryOptions {
  double false_alarms = 0.05;  // probability that a history without change shows one
  std::size_t least_runs = 5;  // between two changes; 3 where a step is clear
};

// Returns the changes in a history of one positive value per run, in the order of runs, by the
// piecewise constant or linear curve of logarithms that explains it best for its number of pieces
// (optimal partitioning). Single outliers are no change. Throws Error(bad_input) for a value that
// is not positive and finite.
std::vector<Change> find_changes(std::span<const double> values,
                                 const HistoryOptions& options = {});

// One value of a new run, and the values of stored runs that it is compared with.
struct NextRun {
  std::string name;
  std::vector<double> history;  // in the order of runs
  double value = 0;             // of the new one
  double ignored = -1;          // as of JudgeOptions; negative: those
};

struct JudgeOptions {
  double false_alarms = 0.05;  // probability that a run without any change reports one
  double smallest = 0.01;      // the relative change that should be seen ...
  double power = 0.95;         // ... with this probability, between 0 and 1; more noise is
                               // `unmeasurable`
  double ignored = -1;         // relative changes up to this are never reported; negative: half of
                               // `smallest`
  std::size_t least_runs = 6;  // of a level that a run is held to
  std::size_t most_runs = 60;  // the newest of them
  HistoryOptions history = {};
};

// Judges all values of one run. A value is reported if it lies outside of Student's prediction
// interval of its history's newest level of `least_runs`, and twice as far from the level's mean as
// any run of the level. The probabilities are corrected by Holm's method. Runs that were reported
// do not count until they are a level. The effect is the value over the expected value; its blocks
// are the level's runs. Throws Error(bad_input) for a value that is not positive and finite.
std::vector<CaseResult> judge(std::span<const NextRun> runs, const JudgeOptions& options = {});

}  // namespace tcc::track
#pragma GCC visibility pop
