// Compares alternatives of choices that span regions (scheduler/plan.h). Each is judged by the
// launches that it makes, with the best config of every kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "autotune/plan_records.h"
#include "autotune/tune.h"
#include "backends/pipeline.h"
#include "scheduler/plan.h"

namespace tcc::autotune {

// One alternative of a site. Seconds are of the launches in which the site's alternatives differ.
struct PlanAlternative {
  int64_t choice = 0;
  int launches = 0;
  double seconds = 0;
  std::string failure;         // not "": kernels of it were not measured, it cannot win
  bool out_of_budget = false;  // they were not: the budget was spent; nothing is wrong with them
};

struct PlanComparison {
  sched::PlanSite site;
  std::vector<PlanAlternative> alternatives;  // in the site's order
  int64_t today = 0;                          // what was in use before
  int64_t choice = 0;                         // from now on
  // Whether the choice was measured: it took the incumbent's place, or no alternative was left out
  // for the budget's sake. Only such a choice is recorded.
  bool is_decided = true;
};

// Estimates the seconds that a launch of a replayed graph or command buffer costs beside its
// kernel's time.
double launch_seconds(const sched::Target& target);

// The kernels of today's plan get at most this part of the time until the deadline, where there are
// choices: comparisons have the rest.
inline constexpr double kTodaysShare = 0.5;
// A comparison gets at most this part of the time that is left, and the last one a larger part:
// what one has tuned too late counts for nothing, and the winner is measured once more.
inline constexpr double kComparisonShare = 0.5, kLastComparisonShare = 0.8;

struct PlanSearchOptions {
  double launch_seconds = 1e-6;
  const RecordStore* known = nullptr;  // kernels with an exact record here are not tuned
  // Several processes may share the sites (in_shard() of autotune/plan_sites.h): those that are
  // this one's; empty: all. Then only kernels in which their alternatives differ are tuned.
  std::function<bool(const sched::PlanSite&)> is_part;
  // Programs are compiled with these today: the search begins with its choices, and those of the
  // sites that are not this process's stay. Null: the defaults.
  const sched::PlanSource* in_use = nullptr;
  const std::atomic<bool>* interrupted = nullptr;
  // No comparison begins after the deadline, and one that it cut short is not counted.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Called after each site, and again when a second pass chose otherwise.
  std::function<void(const PlanComparison&)> compared;
};

struct PlanSearchResult {
  std::vector<PlanComparison> comparisons;  // the last one of each site, in order of the graphs
  PlanStore plans;                          // a record of each that is decided
  RecordStore kernels;                      // those that were tuned on the way
  bool is_part = false;                     // PlanSearchOptions::is_part
  // Seconds of all launches; 0: they could not be measured, or only a part of the sites was
  // compared.
  double today_seconds = 0, best_seconds = 0;
  int today_launches = 0, best_launches = 0;
  bool out_of_time = false;  // the budget was spent before every choice was compared
  size_t choices = 0;        // sites, of this process's part
  size_t compared = 0;       // of them: those whose alternatives were, or give the same kernels
};

// Schedules the graphs by a plan.
using ScheduleByPlan =
    std::function<std::vector<backends::Scheduled>(const sched::PlanSource& plan)>;
// Tuning found these records. Kernels that cannot be measured are in neither member.
struct TunedKernels {
  RecordStore records;
  std::set<RecordKey> out_of_budget;  // not measured: time was over
};
// Finds the best configs of kernels, and ends by the deadline.
using TuneKernels = std::function<TunedKernels(std::span<const TuningTask> tasks,
                                               std::chrono::steady_clock::time_point deadline)>;

// Measures kernels side by side, with the configs of their records (autotune/measure_again.h).
using ConfirmKernels =
    std::function<RecordStore(std::span<const TuningTask> tasks, const RecordStore& records)>;

// Coordinate descent over the graphs' sites from what is in use today, all else staying as chosen
// so far: an alternative takes the place of the incumbent when it is faster beyond the kernels'
// intervals; of several, the fastest does, if it still is faster when the kernels that differ are
// measured side by side. An alternative costs the tuning of kernels that were not seen before.
// Sites whose alternatives give the same kernels are left out. A second pass follows when the first
// changed anything.
PlanSearchResult search_plans(const ScheduleByPlan& schedule, const TuneKernels& tune,
                              const ConfirmKernels& confirm, const sched::Target& target,
                              const PlanSearchOptions& options = {});

}  // namespace tcc::autotune
