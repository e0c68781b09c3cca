#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "support/error.h"
#include "tcc/track.hpp"
#include "track/inference.h"

namespace tcc::track {
namespace {

using Verdict = CaseResult::Verdict;

// Times the largest distance in the history. Where noise is normal, 2 costs a deviation of what is
// seen; it keeps the rate of false alarms where one run in twenty is three times as noisy.
constexpr double kBeyond = 2;

double percent(double share) { return std::round(share * 1e4) / 100; }

// A new run is held to these: the runs from `first` up to `end`.
struct Level {
  std::size_t first = 0, end = 0;
};

// The newest level with enough runs. A younger one is not yet what is expected: a change stays
// reported until its level is known.
Level settled_level(const std::vector<double>& history, const JudgeOptions& options) {
  Level level{0, history.size()};
  const std::vector<Change> changes = find_changes(history, options.history);
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (level.end - change->last >= options.least_runs) {
      level.first = change->last;
      break;
    }
    level.end = change->first;
  }
  return level;
}

// One value against runs before it.
struct Standing {
  Effect effect;
  double p = 1;
  double farthest = 0;  // logarithms up to this are no change
};

Standing standing_of(std::span<const double> level, double value, double ignored) {
  const auto n = static_cast<double>(level.size());
  double mean = 0, squares = 0;
  for (const double run : level) mean += std::log(run) / n;
  Standing result;
  // Runs have outliers, more of them than the normal distribution: a change is farther from the
  // mean than any of the level's.
  for (const double run : level) {
    const double distance = std::log(run) - mean;
    squares += distance * distance;
    result.farthest = std::max(result.farthest, kBeyond * std::abs(distance));
  }
  // One more run and the level's mean differ by s sqrt(1 + 1/n); Effect has s / sqrt(blocks).
  const double deviation = std::sqrt(squares / (n - 1)) * std::sqrt(n + 1);
  result.effect = effect_around(std::log(value) - mean, deviation, level.size(), n - 1);
  if (std::abs(std::log(result.effect.ratio)) > result.farthest)
    result.p = p_value(result.effect, ignored);
  return result;
}

class Judge {
 public:
  Judge(std::span<const NextRun> runs, const JudgeOptions& options)
      : runs_(runs),
        options_(options),
        results_(runs.size()),
        ignored_(runs.size()),
        farthest_(runs.size()) {
    if (!(options.false_alarms > 0 && options.false_alarms < 1))
      fail_input("the rate of false alarms is ", options.false_alarms, "; it lies between 0 and 1");
  }

  std::vector<CaseResult> judge() {
    for (std::size_t i = 0; i < runs_.size(); ++i) measure(i);
    correct();
    for (const std::size_t i : judged_) conclude(i);
    return std::move(results_);
  }

 private:
  void measure(std::size_t i) {
    const NextRun& run = runs_[i];
    CaseResult& result = results_[i];
    result.name = run.name;
    ignored_[i] = run.ignored >= 0        ? run.ignored
                  : options_.ignored >= 0 ? options_.ignored
                                          : options_.smallest / 2;
    if (!(run.value > 0 && std::isfinite(run.value)))
      fail_input(run.name, ": its value is ", run.value, "; positive, finite ones can be judged");
    const std::span<const double> level = expected(run, ignored_[i]);
    if (level.size() < least_runs()) {
      result.verdict = Verdict::unmeasurable;
      result.reason =
          str(level.size(), " runs in its history, ", options_.least_runs, " are needed");
      return;
    }
    const Standing standing = standing_of(level, run.value, ignored_[i]);
    result.effect = standing.effect;
    result.p = standing.p;
    farthest_[i] = standing.farthest;
    judged_.push_back(i);
  }

  std::size_t least_runs() const { return std::max<std::size_t>(options_.least_runs, 3); }

  // The runs of the settled level, without the newest ones that all lie beyond what those before
  // them let expect: a change that was reported once is reported again in each new run.
  std::span<const double> expected(const NextRun& run, double ignored) const {
    const Level level = settled_level(run.history, options_);
    const std::span<const double> all(run.history);
    const auto newest = [&](std::size_t end) {
      const std::size_t count = std::min(end - level.first, options_.most_runs);
      return all.subspan(end - count, count);
    };
    const double reported = options_.false_alarms / static_cast<double>(runs_.size());
    std::size_t end = std::min(level.end, level.first + least_runs());
    for (std::size_t k = end; k < level.end; ++k)
      if (standing_of(newest(end), all[k], ignored).p > reported) end = k + 1;
    return newest(end);
  }

  void correct() {
    std::vector<double> p;
    for (const std::size_t i : judged_) p.push_back(results_[i].p);
    p = holm(p);
    for (std::size_t k = 0; k < judged_.size(); ++k) results_[judged_[k]].p = p[k];
  }

  void conclude(std::size_t i) {
    CaseResult& result = results_[i];
    result.visible = visible(result.effect, i);
    const double asked = std::max(options_.smallest, 2 * ignored_[i]);
    if (result.p <= options_.false_alarms) {
      result.verdict = result.effect.ratio > 1 ? Verdict::slower : Verdict::faster;
    } else if (result.visible > asked) {
      result.verdict = Verdict::unmeasurable;
      result.reason = str("runs differ too much: a change of ", percent(result.visible),
                          " % would be seen, ", percent(asked), " % was asked for");
    }
  }

  double visible(const Effect& effect, std::size_t i) const {
    const double level = options_.false_alarms / static_cast<double>(judged_.size());
    const double by_test = smallest_seen(ignored_[i], [&](double change) {
      return power(change, effect.deviation, effect.blocks, level, ignored_[i]) >= options_.power;
    });
    const double of_one = effect.deviation / std::sqrt(static_cast<double>(effect.blocks));
    const double quantile = boost::math::quantile(boost::math::normal(), options_.power);
    return std::max(by_test, std::expm1(farthest_[i] + quantile * of_one));
  }

  std::span<const NextRun> runs_;
  const JudgeOptions& options_;
  std::vector<CaseResult> results_;
  std::vector<double> ignored_;
  std::vector<double> farthest_;  // logarithms up to this are no change
  std::vector<std::size_t> judged_;
};

}  // namespace

std::vector<CaseResult> judge(std::span<const NextRun> runs, const JudgeOptions& options) {
  return Judge(runs, options).judge();
}

}  // namespace tcc::track
