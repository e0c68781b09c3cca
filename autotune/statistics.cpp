#include "autotune/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autotune/random_words.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr size_t kResamples = 1000;
constexpr uint64_t kSeed = 0x6d656469616e;

// Reorders `values`.
double take_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace

double median(std::span<const double> values) {
  TCC_CHECK(!values.empty(), "the median of nothing");
  std::vector<double> copy(values.begin(), values.end());
  return take_median(copy);
}

Interval median_interval(std::span<const double> values) {
  TCC_CHECK(!values.empty(), "the interval of nothing");
  RandomWords random(kSeed);
  std::vector<double> medians(kResamples), resample(values.size());
  for (double& one : medians) {
    for (double& value : resample) value = values[random.below(values.size())];
    one = take_median(resample);
  }
  std::sort(medians.begin(), medians.end());
  constexpr size_t kTail = kResamples / 40;  // 2.5 %
  return {medians[kTail], medians[kResamples - 1 - kTail]};
}

Interval order_interval(std::span<const double> values) {
  TCC_CHECK(!values.empty(), "the interval of nothing");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  // The largest number of values below the interval whose binomial tail is at most 2.5 %.
  const auto n = static_cast<double>(sorted.size());
  size_t below = 0;
  double probability = std::exp2(-n), tail = probability;
  while (tail <= 0.025 && below + 1 <= (sorted.size() - 1) / 2) {
    const auto k = static_cast<double>(below + 1);
    probability *= (n - k + 1) / k;
    if (tail + probability > 0.025) break;
    tail += probability;
    ++below;
  }
  return {sorted[below], sorted[sorted.size() - 1 - below]};
}

}  // namespace tcc::autotune
