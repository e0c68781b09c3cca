#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "support/error.h"
#include "tcc/track.hpp"
#include "track/inference.h"

namespace tcc::track {
namespace {

// The median of log(head / base).
double log_ratio(const Block& block) {
  if (block.empty()) fail_input("a block has no pairs");
  std::vector<double> logs;
  for (const Pair& pair : block) {
    if (!(pair.base > 0 && pair.head > 0 && std::isfinite(pair.base) && std::isfinite(pair.head)))
      fail_input("a measurement is ", pair.base > 0 ? pair.head : pair.base,
                 "; positive, finite ones can be compared");
    logs.push_back(std::log(pair.head / pair.base));
  }
  return median_of(std::move(logs));
}

// The least standard error, relative: timers have steps, and equal samples are no proof
// of a difference of nothing.
constexpr double kFinest = 1e-9;
// Blocks from which on the order's effect is taken out.
constexpr std::size_t kLeastWithOrder = 4;

// Degrees of freedom: of the mean, and from four blocks on of the order's effect.
double freedom_of(std::size_t blocks) {
  return static_cast<double>(blocks) - (blocks >= kLeastWithOrder ? 2 : 1);
}

double standard_error(double deviation, std::size_t blocks) {
  return std::max(deviation / std::sqrt(static_cast<double>(blocks)), kFinest);
}

struct Fit {
  double mean = 0, deviation = 0;
};

double mean_of(const std::vector<double>& values, std::size_t first, std::size_t step) {
  double sum = 0, count = 0;
  for (std::size_t i = first; i < values.size(); i += step) sum += values[i], ++count;
  return sum / count;
}

// Every other block may have its two programs set up in the other order, whose effect has the
// opposite sign then: the mean is that of both orders, the deviation the one around each.
Fit fit_of(const std::vector<double>& values) {
  if (values.size() < 2) return {values[0], 0};
  const bool order = values.size() >= kLeastWithOrder;
  const std::size_t step = order ? 2 : 1;
  const double means[] = {mean_of(values, 0, step), mean_of(values, order ? 1 : 0, step)};
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double apart = values[i] - means[i % step];
    squares += apart * apart;
  }
  return {(means[0] + means[1]) / 2, std::sqrt(squares / freedom_of(values.size()))};
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) fail_input("no values have a median");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

Effect paired_effect(std::span<const Block> blocks) {
  if (blocks.empty()) fail_input("there are no blocks to compare");
  std::vector<double> logs;
  for (const Block& block : blocks) logs.push_back(log_ratio(block));
  const auto [mean, deviation] = fit_of(logs);
  return effect_around(mean, deviation, logs.size(), freedom_of(logs.size()));
}

Effect effect_around(double mean, double deviation, std::size_t blocks, double freedom) {
  Effect effect{.ratio = std::exp(mean),
                .low = 0,
                .high = std::numeric_limits<double>::infinity(),
                .deviation = deviation,
                .blocks = blocks,
                .freedom = freedom};
  if (blocks < 2) return effect;
  const boost::math::students_t t(freedom);
  const double half =
      boost::math::quantile(boost::math::complement(t, 0.025)) * standard_error(deviation, blocks);
  effect.low = std::exp(mean - half);
  effect.high = std::exp(mean + half);
  return effect;
}

double p_value(const Effect& effect, double ignored) {
  if (effect.blocks < 2) return 1;
  const double distance = std::abs(std::log(effect.ratio)) - std::log1p(ignored);
  if (distance <= 0) return 1;
  const boost::math::students_t t(effect.freedom);
  const double statistic = distance / standard_error(effect.deviation, effect.blocks);
  return std::min(1.0, 2 * boost::math::cdf(boost::math::complement(t, statistic)));
}

double power(double change, double deviation, std::size_t blocks, double level, double ignored) {
  if (blocks < 2) return 0;
  const double distance = std::log1p(change) - std::log1p(ignored);
  if (distance <= 0) return 0;
  const double freedom = freedom_of(blocks);
  const double critical =
      boost::math::quantile(boost::math::complement(boost::math::students_t(freedom), level / 2));
  const double centre = distance / standard_error(deviation, blocks);
  // Non-central t by the normal distribution: Abramowitz and Stegun, 26.7.10. Within 0.01 of the
  // exact power from four degrees of freedom on, and fast enough to search with.
  const double z = (centre - critical * (1 - 1 / (4 * freedom))) /
                   std::sqrt(1 + critical * critical / (2 * freedom));
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

}  // namespace tcc::track
