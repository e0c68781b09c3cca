#include "autotune/sampling.h"

#include <algorithm>
#include <numeric>

#include "autotune/statistics.h"

namespace tcc::autotune {
namespace {

constexpr double kLongRun = 0.01;  // seconds
constexpr size_t kBatch = 5;
constexpr double kStable = 0.05;  // the spread of a batch over its median
constexpr size_t kMostWarmUps = 100;
constexpr double kWarmUpSeconds = 0.05;

constexpr size_t kFewest = 3, kMost = 50;
constexpr size_t kFewestPairs = 6;      // fewer do not decide which is faster
constexpr double kFewPairsSeconds = 1;  // but of runs as long as that, as few as of one kernel
constexpr double kQuickSeconds = 0.05, kFullSeconds = 0.2;
constexpr size_t kFewestForInterval = 10;
constexpr double kPrecise = 0.01;

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

bool is_stable(const std::vector<double>& batch) {
  const auto [low, high] = std::minmax_element(batch.begin(), batch.end());
  return *high - *low <= kStable * median(batch);
}

bool is_precise(const std::vector<double>& samples) {
  if (samples.size() < kFewestForInterval) return false;
  return median_interval(samples).relative_half_width(median(samples)) <= kPrecise;
}

// Returns how many runs fit into `seconds`, between `fewest` and `most`.
size_t fitting(double seconds, double about_seconds, size_t fewest, size_t most) {
  if (about_seconds * static_cast<double>(most) <= seconds) return most;
  return std::clamp(static_cast<size_t>(seconds / about_seconds), fewest, most);
}

// Runs batches until the last one is stable.
void warm_up(const SampleFn& run, double about_seconds) {
  if (about_seconds >= kLongRun) return;
  double seconds = 0;
  for (size_t count = 0; count < kMostWarmUps && seconds < kWarmUpSeconds; count += kBatch) {
    const std::vector<double> batch = run(kBatch);
    if (is_stable(batch)) return;
    seconds += sum(batch);
  }
}

void append(std::vector<double>& samples, const std::vector<double>& more) {
  samples.insert(samples.end(), more.begin(), more.end());
}

}  // namespace

std::vector<double> take_samples(const SampleFn& run, Effort effort, double about_seconds) {
  warm_up(run, about_seconds);
  if (effort == Effort::quick) return run(fitting(kQuickSeconds, about_seconds, kFewest, kBatch));
  std::vector<double> samples = run(fitting(kFullSeconds, about_seconds, kFewest, kBatch));
  while (samples.size() < kMost && sum(samples) < kFullSeconds && !is_precise(samples))
    append(samples, run(fitting(kFullSeconds, about_seconds, 1, kBatch)));
  return samples;
}

SamplePairs take_pairs(const SamplePairsFn& run, double about_seconds) {
  const auto both = [&](size_t count) {
    auto [a, b] = run(count);
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  };
  warm_up(both, about_seconds);
  const size_t fewest = about_seconds < kFewPairsSeconds ? kFewestPairs : kFewest;
  SamplePairs samples = run(fitting(kFullSeconds, about_seconds, fewest, kFewestForInterval));
  auto& [first, second] = samples;
  while (first.size() < kMost && sum(first) + sum(second) < 2 * kFullSeconds &&
         !(is_precise(first) && is_precise(second))) {
    const auto [a, b] = run(fitting(kFullSeconds, about_seconds, 1, kBatch));
    append(first, a);
    append(second, b);
  }
  return samples;
}

}  // namespace tcc::autotune
