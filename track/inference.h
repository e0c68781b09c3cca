// The parts of the statistics share these functions.
#pragma once

#include <cmath>
#include <vector>

#include "tcc/track.hpp"

namespace tcc::track {

// Returns the effect of this mean and deviation of logarithms, with its 95 % interval by Student's
// t.
Effect effect_around(double mean, double deviation, std::size_t blocks, double freedom);

// Holm (1979): the k-th smallest of m p-values times m - k + 1, never less than the one before, at
// most 1; in the given order. Verdicts at p <= level are all right with a probability of 1 - level
// where there is no effect.
std::vector<double> holm(const std::vector<double>& p);

// Changes of more are no longer "the smallest that is seen".
inline constexpr double kLargestChange = 10;
// The smallest relative change above `ignored` for which `seen` holds, which grows with it; at most
// kLargestChange.
template <class Seen>
double smallest_seen(double ignored, const Seen& seen) {
  double low = ignored, high = kLargestChange;
  if (!seen(high)) return high;
  for (int i = 0; i < 40; ++i) {
    const double middle = std::sqrt(std::max(low, 1e-7) * high);
    (seen(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace tcc::track
