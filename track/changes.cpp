#include <algorithm>
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

// From the differences of runs one and two apart, which steps and drifts hardly touch. Where the
// noise is a first-order autoregression of correlation r, the squares of the second are 1 + r times
// those of the first.
Noise noise_of(const std::vector<double>& values) {
  const auto spread = [&](std::size_t apart) {
    std::vector<double> differences;
    for (std::size_t i = apart; i < values.size(); ++i)
      differences.push_back(std::abs(values[i] - values[i - apart]));
    return median_of(std::move(differences)) / kQuartile;
  };
  // Timers have steps: a history of equal values has noise all the same.
  const double near = std::max(spread(1), 1e-6), far = std::max(spread(2), 1e-6);
  const double r = std::clamp(far * far / (near * near) - 1, 0.0, 0.9);
  const double single = near / std::sqrt(2 * (1 - r));
  return {single, single * std::sqrt((1 + r) / (1 - r))};
}

// Hampel's filter: what lies more than three deviations from the median of the seven around it
// becomes that median, so that a single bad run is no change.
std::vector<double> without_outliers(const std::vector<double>& values, double deviation) {
  constexpr std::size_t kAround = 3;
  std::vector<double> result = values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t from = i < kAround ? 0 : i - kAround;
    const std::size_t to = std::min(values.size(), i + kAround + 1);
    const double middle = median_of({values.begin() + static_cast<std::ptrdiff_t>(from),
                                     values.begin() + static_cast<std::ptrdiff_t>(to)});
    if (std::abs(values[i] - middle) > 3 * deviation) result[i] = middle;
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

struct Piece {
  std::size_t first = 0, end = 0;
  bool linear = false;
  double begin_level = 0, end_level = 0;
};

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
      if (line < best[end].cost) best[end] = {line, from, true};
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
  if (logs.size() < 2 * least) return {};
  const Noise noise = noise_of(logs);
  logs = without_outliers(logs, noise.single);
  // The largest of n nearly independent squares exceeds 2 log n + 2 log(1 / alpha) with a
  // probability below alpha; a change has two ends to choose.
  const double n = static_cast<double>(logs.size());
  const double penalty = 2 * std::log(n) + 2 * std::log(1 / options.false_alarms);
  return changes_between(partition(logs, noise.level, penalty, least), noise.single);
}

}  // namespace tcc::track
