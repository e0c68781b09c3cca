// Finds out whether one of two kernels is faster, on a device that other programs may be using.
// Their runs alternate, and the ratios of runs that follow one another are judged.
#pragma once

#include <functional>

#include "autotune/bench.h"
#include "autotune/statistics.h"

namespace tcc::autotune {

inline constexpr double kSignificantGain = 1.01;  // less is no gain

struct DuelResult {
  Measurement incumbent, challenger;  // of all rounds together
  // The challenger's time over the incumbent's, run by run: the median, and its 95 % interval.
  double ratio = 1;
  Interval interval = {1, 1};
  size_t pairs = 0;
  bool valid = false;  // both ran

  // Returns whether the challenger is faster: the interval says so, the gain is kSignificantGain or
  // more, and its median is the lower one.
  bool won() const;
  // Returns whether the interval rules out that it is faster by kSignificantGain.
  bool lost() const;
  // Returns the incumbent's time by which the ratio is the challenger's gain: two medians of runs
  // that a load disturbs are apart by another factor than the runs that follow one another.
  double incumbent_seconds() const { return challenger.seconds / ratio; }
};

// Repeats Bench::duel() until the challenger has won twice or has lost, at most four times. `hurry`
// is called after each round; once it returns true, the first round with a result is the last.
DuelResult duel(Bench& bench, const exec::StandaloneSequence& incumbent,
                const exec::StandaloneSequence& challenger,
                const std::function<bool()>& hurry = {});

}  // namespace tcc::autotune
