// Medians of few, skewed samples, and confidence intervals of them.
#pragma once

#include <cstdint>
#include <span>

namespace tcc::autotune {

// Returns the median of at least one value; for an even number of values it is the mean of the two
// in the middle.
double median(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
  // Returns half its width over `center`, which is positive.
  double relative_half_width(double center) const { return (high - low) / 2 / center; }
};

// Returns the 95 % interval of the median of at least one value by the percentile bootstrap (Efron,
// 1979) with a fixed seed, so that equal samples give equal intervals on every machine. For one
// value both ends are that value.
Interval median_interval(std::span<const double> values);

// Returns an interval between two of the sorted values (the sign test's) that holds the median with
// at least 95 %, whatever the distribution. With fewer than kFewestForOrder values no interval
// does; then it is from the smallest to the largest.
inline constexpr size_t kFewestForOrder = 6;
Interval order_interval(std::span<const double> values);

}  // namespace tcc::autotune
