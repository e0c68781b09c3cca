// Replays searches against logged measurements, without a device, to find how close each comes to
// the exhaustive best, and with how many trials.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autotune/search.h"
#include "autotune/trial_log.h"

namespace tcc::autotune {

struct ReplayOptions {
  // Trials of a search on a space of n configs: the larger of `least_trials` and `share` * n.
  size_t least_trials = 32;
  double share = 0.03;
  double quick_cost = 0.25;  // as in SearchProblem
  int seeds = 20;            // searches of each task: seeds 0, 1, ...
};

// One search of one task.
struct ReplayRun {
  // Medians of the samples that the search did not see: of the config it found, and of the
  // exhaustive best, which is the fastest by the median of all its samples.
  double seconds = 0, best_seconds = 0;
  double trials = 0;   // spent, quick ones in parts
  size_t configs = 0;  // that were measured, with any effort
  // The ratio may be below 1 where the best config was measured as best by chance.
  double ratio() const { return seconds / best_seconds; }
};

// One task, searched with every seed.
struct ReplayTask {
  std::string name, operands, kernel_template, device;
  size_t space = 0;                              // legal configs, as far as the log holds them
  size_t trials = 0;                             // what a search may spend
  double default_seconds = 0, best_seconds = 0;  // medians of all samples
  std::vector<ReplayRun> runs;                   // by seed
  // Found over exhaustive best: geometric mean and largest over the seeds.
  double mean_ratio() const;
  double worst_ratio() const;
};

struct ReplayResult {
  SearchKind kind = SearchKind::automatic;
  std::vector<ReplayTask> tasks;      // in the log's order
  double mean_default_ratio() const;  // geometric, of the defaults over the best
  double mean_ratio() const;          // geometric, over tasks and seeds
  // The largest of the tasks' mean ratios: "within 8 % in the worst space".
  double worst_task_ratio() const;
  double worst_ratio() const;  // of any run
};

// Searches every task of the log whose default config was measured. Each config's samples of full
// effort are split for each seed: a full measurement is the median of one half, a quick one of at
// most three samples of that half, and the winner is judged by the median of the other half. A
// config that was slow in the log is as slow here, one that failed or was wrong gives nothing, and
// the space has no others than those in the log. Deterministic. Throws Error(bad_input) when there
// is no such task: a config needs four samples.
ReplayResult replay(const TrialHistory& history, SearchKind kind,
                    const ReplayOptions& options = {});

// The table of docs/performance.md: a line per task, with `result` beside `random` at equal trials,
// and a summary. Both are of the same log and options.
std::string replay_table(const ReplayResult& result, const ReplayResult& random);

}  // namespace tcc::autotune
