// Whether one of two kernels is faster, on a device that other programs may be using: their runs
// alternate, and what counts are the ratios of runs that follow one another.
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

  // The challenger is faster: clearly, and by kSignificantGain.
  bool won() const;
  // It is not faster by kSignificantGain, clearly.
  bool lost() const;
};

// Rounds of Bench::duel() until the challenger has won twice, has lost, or nothing can be said
// after four of them. `hurry` is asked after each round: the first one that says something is then
// the last.
DuelResult duel(Bench& bench, const exec::StandaloneKernel& incumbent,
                const exec::StandaloneKernel& challenger, const std::function<bool()>& hurry = {});

}  // namespace tcc::autotune
