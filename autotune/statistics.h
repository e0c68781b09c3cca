// Medians of few, skewed samples, and how far they can be trusted.
#pragma once

#include <cstdint>
#include <span>

namespace tcc::autotune {

// Returns the median of at least one value; for an even number of values it is the mean of the two
// in the middle.
double median(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
  // Half its width over `center`, which is positive.
  double relative_half_width(double center) const { return (high - low) / 2 / center; }
};

// The 95 % interval of the median of at least one value: the percentile bootstrap (Efron, 1979)
// with a fixed seed, so that equal samples give equal intervals on every machine. Of one value it
// is that value.
Interval median_interval(std::span<const double> values);

// An interval that holds the median with at least 95 %, whatever the distribution: between two of
// the sorted values (the sign test's). Of fewer than kFewestForOrder values none does: from the
// smallest to the largest then.
inline constexpr size_t kFewestForOrder = 6;
Interval order_interval(std::span<const double> values);

}  // namespace tcc::autotune
