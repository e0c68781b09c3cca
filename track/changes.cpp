#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "support/error.h"
#include "tcc/track.hpp"

namespace tcc::track {
namespace {

// The normal distribution's quartile: a median of absolute deviations over it is a deviation.
constexpr double kQuartile = 0.674489750196082;

// The noise of single runs, and that of a level over many: larger where neighbours resemble each
// other, since long waves then look like changes.
struct Noise {
  double single = 0, level = 0;
};

// Estimates the noise from the differences of runs one and two apart, which steps and drifts hardly
// change. Where the noise is a first-order autoregression of correlation r, the squares of the
// second are 1 + r times those of the first.
Noise noise_of(const std::vector<double>& values) {
  const auto spread = [&](std::size_t apart) {
    std::vector<double> differences;
    for (std::size_t i = apart; i < values.size(); ++i)
      differences.push_back(std::abs(values[i] - values[i - apart]));
    std::sort(differences.begin(), differences.end());
    double squares = 0;
    const std::size_t most = differences.size() - (differences.size() + 4) / 5;
    for (std::size_t i = 0; i < most; ++i) squares += differences[i] * differences[i];
    // If runs have two levels, most differences are small, and the median does not show it.
    return std::max(median_of(differences) / kQuartile,
                    std::sqrt(squares / static_cast<double>(std::max<std::size_t>(most, 1))));
  };
  // Timers have steps: a history of equal values has noise all the same.
  const double near = std::max(spread(1), 1e-6), far = std::max(spread(2), 1e-6);
  const double r = std::clamp(far * far / (near * near) - 1, 0.0, 0.9);
  const double single = near / std::sqrt(2 * (1 - r));
  return {single, single * std::sqrt((1 + r) / (1 - r))};
}

// Hampel's filter: what lies more than three deviations from the median of the seven around it, and
// from those of the four up to it and from it on, becomes the first of them. A single bad run is no
// change; the first runs at a new level are no bad ones.
std::vector<double> without_outliers(const std::vector<double>& values, double deviation) {
  constexpr std::size_t kAround = 3;
  std::vector<double> result = values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t from = i < kAround ? 0 : i - kAround;
    const std::size_t to = std::min(values.size(), i + kAround + 1);
    const auto median = [&](std::size_t first, std::size_t end) {
      return median_of({values.begin() + static_cast<std::ptrdiff_t>(first),
                        values.begin() + static_cast<std::ptrdiff_t>(end)});
    };
    const auto is_far = [&](std::size_t first, std::size_t end) {
      return end - first < kAround || std::abs(values[i] - median(first, end)) > 3 * deviation;
    };
    if (is_far(from, to) && is_far(from, i + 1) && is_far(i, to)) result[i] = median(from, to);
  }
  return result;
}

// Sums of the values from the first on, for the fit of any stretch in constant time.
class Fits {
 public:
  explicit Fits(const std::vector<double>& values) : sums_(values.size() + 1) {
    const double origin = values.empty() ? 0 : values[0];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double y = values[i] - origin, x = static_cast<double>(i);
      const Sums& before = sums_[i];
      sums_[i + 1] = {before.y + y, before.yy + y * y, before.xy + x * y};
    }
  }

  struct Fit {
    double level = 0;     // at the stretch's middle, from the first value on
    double slope = 0;     // of each run
    double constant = 0;  // sum of squares around the level
    double linear = 0;    // around the line
  };
  Fit of(std::size_t first, std::size_t end) const {
    const Sums &a = sums_[first], &b = sums_[end];
    const auto n = static_cast<double>(end - first);
    const double middle = static_cast<double>(first) + (n - 1) / 2;
    const double y = b.y - a.y, xy = b.xy - a.xy - middle * y;
    const double spread = n * (n * n - 1) / 12;  // of the runs' numbers around their middle
    Fit fit{.level = y / n, .slope = spread > 0 ? xy / spread : 0};
    fit.constant = std::max(0.0, b.yy - a.yy - y * y / n);
    fit.linear = std::max(0.0, fit.constant - fit.slope * xy);
    return fit;
  }

 private:
  struct Sums {
    double y = 0, yy = 0, xy = 0;
  };
  std::vector<Sums> sums_;
};

// Returns whether a step near one of the ends, where a piece of its own would be too short,
// explains a stretch better than its line does.
bool is_short_step(const Fits& fits, std::size_t from, std::size_t end, std::size_t least,
                   double linear) {
  const auto explains = [&](std::size_t at) {
    return fits.of(from, at).constant + fits.of(at, end).constant < linear;
  };
  for (std::size_t length = 1; length < least; ++length)
    if (explains(from + length) || explains(end - length)) return true;
  return false;
}

struct Piece {
  std::size_t first = 0, end = 0;
  bool linear = false;
  double begin_level = 0, end_level = 0;
};

// Two-sided, that the means of two neighbouring stretches are one: Student's t over the effective
// number of runs, which the residuals' first-order correlation makes smaller.
double step_p_value(std::span<const double> before, std::span<const double> after) {
  const auto mean_of = [](std::span<const double> side) {
    double sum = 0;
    for (const double value : side) sum += value;
    return sum / static_cast<double>(side.size());
  };
  const double means[] = {mean_of(before), mean_of(after)};
  double squares = 0, products = 0;
  for (const auto& [side, mean] : {std::pair(before, means[0]), std::pair(after, means[1])})
    for (std::size_t i = 0; i < side.size(); ++i) {
      squares += (side[i] - mean) * (side[i] - mean);
      if (i > 0) products += (side[i] - mean) * (side[i - 1] - mean);
    }
  const auto a = static_cast<double>(before.size()), b = static_cast<double>(after.size());
  const double n = a + b;
  // Residuals around two means resemble each other less than the noise does.
  const double seen = squares > 0 ? products / squares : 0;
  const double r = std::clamp(seen + (1 + 3 * std::max(seen, 0.0)) / n, 0.0, 0.7);
  const double fewer = (1 + r) / (1 - r);
  const double freedom = std::max(1.0, (n - 2) / fewer);
  // Timers have steps: equal values have noise all the same.
  const double variance = std::max(squares / (n - 2), 1e-12) * fewer * (1 / a + 1 / b);
  const double t = std::abs(means[1] - means[0]) / std::sqrt(variance);
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), t));
}

// Optimal partitioning (Jackson et al., 2005): the pieces of least squares, in units of the noise,
// plus a penalty for each.
std::vector<Piece> partition(const std::vector<double>& values, double deviation, double penalty,
                             std::size_t least) {
  const Fits fits(values);
  const double unit = deviation * deviation;
  const std::size_t n = values.size();
  struct Best {
    double cost = std::numeric_limits<double>::infinity();
    std::size_t from = 0;
    bool linear = false;
  };
  std::vector<Best> best(n + 1);
  best[0].cost = -penalty;
  for (std::size_t end = least; end <= n; ++end)
    for (std::size_t from = 0; from + least <= end; ++from) {
      if (!std::isfinite(best[from].cost)) continue;
      const Fits::Fit fit = fits.of(from, end);
      const double level = best[from].cost + penalty + fit.constant / unit;
      if (level < best[end].cost) best[end] = {level, from, false};
      if (end - from < 2 * least) continue;
      // A slope is one more number, and most stretches could take a little of one.
      const double line = best[from].cost + 2 * penalty + fit.linear / unit;
      if (line < best[end].cost && !is_short_step(fits, from, end, least, fit.linear))
        best[end] = {line, from, true};
    }
  std::vector<Piece> pieces;
  for (std::size_t end = n; end > 0; end = best[end].from) {
    const Fits::Fit fit = fits.of(best[end].from, end);
    const double half =
        best[end].linear ? fit.slope * static_cast<double>(end - best[end].from - 1) / 2 : 0;
    pieces.push_back({best[end].from, end, best[end].linear, fit.level - half, fit.level + half});
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

// The fewest runs that a step is seen by, and the share of false alarms that clear steps have.
constexpr std::size_t kLeastSide = 3;
constexpr double kClearShare = 0.3;

// Differences of runs overestimate the noise of a short history with two levels or a wave, and a
// piece needs `least` runs. A step that is large beside the noise on both of its sides is seen all
// the same: no value of one side lies within the other, and Student's t, with fewer degrees where
// neighbours resemble each other, gives it `level` over all places. Nothing: 0.
std::size_t clear_step(const std::vector<double>& values, const Piece& piece, double level) {
  const std::size_t count = piece.end - piece.first;
  if (piece.linear || count < 2 * kLeastSide + 2) return 0;
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(piece.first);
  const auto finish = values.begin() + static_cast<std::ptrdiff_t>(piece.end);
  std::size_t found = 0;
  double best = level / static_cast<double>(count - 2 * kLeastSide + 1);
  for (std::size_t side = kLeastSide; side + kLeastSide <= count; ++side) {
    const auto middle = begin + static_cast<std::ptrdiff_t>(side);
    const auto [low_before, high_before] = std::minmax_element(begin, middle);
    const auto [low_after, high_after] = std::minmax_element(middle, finish);
    if (*high_before >= *low_after && *high_after >= *low_before) continue;
    const double p = step_p_value({begin, middle}, {middle, finish});
    if (p < best) best = p, found = piece.first + side;
  }
  return found;
}

std::vector<Piece> with_clear_steps(const std::vector<double>& values,
                                    const std::vector<Piece>& pieces, double level) {
  const Fits fits(values);
  std::vector<Piece> result, left(pieces.rbegin(), pieces.rend());
  while (!left.empty()) {
    const Piece piece = left.back();
    left.pop_back();
    const std::size_t at = clear_step(values, piece, level);
    if (at == 0) {
      result.push_back(piece);
      continue;
    }
    const auto constant = [&](std::size_t first, std::size_t end) {
      const double mean = fits.of(first, end).level;
      return Piece{first, end, false, mean, mean};
    };
    left.push_back(constant(at, piece.end));
    left.push_back(constant(piece.first, at));
  }
  return result;
}

// A piece has `least` runs, so that a younger step was dated too early: between two levels, it goes
// where it fits best.
void date_steps(const std::vector<double>& values, std::vector<Piece>& pieces) {
  const Fits fits(values);
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    Piece &before = pieces[i - 1], &after = pieces[i];
    if (before.linear || after.linear) continue;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = before.first + kLeastSide; at + kLeastSide <= after.end; ++at) {
      const double cost = fits.of(before.first, at).constant + fits.of(at, after.end).constant;
      if (cost < least) least = cost, before.end = after.first = at;
    }
    before.begin_level = before.end_level = fits.of(before.first, before.end).level;
    after.begin_level = after.end_level = fits.of(after.first, after.end).level;
  }
}

std::vector<Change> changes_between(const std::vector<Piece>& pieces, double deviation) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (i > 0) {
      const Piece& before = pieces[i - 1];
      const double jump = piece.begin_level - before.end_level;
      // The ends of lines are less certain than levels; between two levels there is always a step.
      const bool lines = piece.linear || before.linear;
      if (!lines || std::abs(jump) > 3 * deviation)
        changes.push_back({Change::Kind::step, piece.first, piece.first, std::exp(jump)});
    }
    if (piece.linear)
      changes.push_back({Change::Kind::drift, piece.first, piece.end - 1,
                         std::exp(piece.end_level - piece.begin_level)});
  }
  return changes;
}

}  // namespace

std::vector<Change> find_changes(std::span<const double> values, const HistoryOptions& options) {
  if (!(options.false_alarms > 0 && options.false_alarms < 1))
    fail_input("the rate of false alarms is ", options.false_alarms, "; it lies between 0 and 1");
  std::vector<double> logs;
  for (const double value : values) {
    if (!(value > 0 && std::isfinite(value)))
      fail_input("run ", logs.size(), " of the history has the value ", value,
                 "; positive, finite ones have changes");
    logs.push_back(std::log(value));
  }
  const std::size_t least = std::max<std::size_t>(options.least_runs, 2);
  if (logs.size() < least + kLeastSide) return {};
  const Noise noise = noise_of(logs);
  logs = without_outliers(logs, noise.single);
  // The largest of n nearly independent squares exceeds 2 log n + 2 log(1 / alpha) with a
  // probability below alpha; a change has two ends to choose.
  const double n = static_cast<double>(logs.size());
  const double penalty = 2 * std::log(n) + 2 * std::log(1 / options.false_alarms);
  std::vector<Piece> pieces = partition(logs, noise.level, penalty, least);
  pieces = with_clear_steps(logs, pieces, kClearShare * options.false_alarms);
  date_steps(logs, pieces);
  return changes_between(pieces, noise.single);
}

}  // namespace tcc::track
