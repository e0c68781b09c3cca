// The end of a sweep decides which of the fastest configs wins, and whether it beats the config in
// use today.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autotune/bench.h"
#include "autotune/duel.h"
#include "autotune/records.h"
#include "autotune/trial_log.h"

namespace tcc::autotune {

// Returns the configs other than `incumbent` that may be the fastest: within 3 % of the fastest of
// them, or with an interval that reaches it; at most 4, fastest first. The last full measurement of
// a config counts, else its last quick one.
std::vector<sched::Config> finalists(const std::vector<LoggedTrial>& trials,
                                     const sched::Config& incumbent);

struct FinalResult {
  sched::Config config;  // of the finalist that met the incumbent
  DuelResult duel;       // against it
};

// The other finalists are compared with the first of them in duels; among those that it does not
// beat, the smallest config hash wins, so that two sweeps agree (where medians are within 1 % of
// each other), unless one is clearly faster. The winner is then compared with the incumbent. In a
// `hurry` the first finalist is compared with the incumbent at once. Throws the errors of `bench`
// and `compile`.
FinalResult play_finals(
    Bench& bench, const std::vector<sched::Config>& finalists, const sched::Config& incumbent,
    const std::function<exec::StandaloneSequence(const sched::Config&)>& compile,
    const std::function<bool()>& hurry = {});

// Returns the four fastest other configs, for the tuning record.
std::vector<RunnerUp> runners_up(const std::vector<LoggedTrial>& trials, const sched::Config& best);

std::string date_today();  // "2026-11-21", UTC

}  // namespace tcc::autotune
