// The end of a sweep: who wins among the fastest, and whether the default is beaten at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autotune/bench.h"
#include "autotune/records.h"
#include "autotune/trial_log.h"

namespace tcc::autotune {

struct FinalResult {
  sched::Config config;
  Measurement measured;
  double default_seconds = 0;  // in the same duel; 0: the default is the only one
};

// The configs that were measured at full effort within 3 % of the fastest, at most 4, fastest
// first.
std::vector<sched::Config> finalists(const std::vector<LoggedTrial>& trials);

// Times the finalists against the fastest of them, interleaved; among those that are not
// significantly slower (overlapping 95 % intervals), the smallest config hash wins, so that two
// sweeps agree (where medians are within 1 % of each other). The winner replaces the default only
// where it is significantly faster, by 1 % at least. Errors: what `bench` and `compile` throw.
FinalResult play_finals(Bench& bench, const std::vector<sched::Config>& finalists,
                        const sched::Config& default_config,
                        const std::function<sched::KernelBinary(const sched::Config&)>& compile);

// The four fastest other configs, for the record.
std::vector<RunnerUp> runners_up(const std::vector<LoggedTrial>& trials, const sched::Config& best);

std::string date_today();  // "2026-11-21", UTC

}  // namespace tcc::autotune
