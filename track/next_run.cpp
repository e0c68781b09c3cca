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

// Where the level began that the history ends with: behind the last change.
std::size_t level_start(const std::vector<double>& history, const HistoryOptions& options) {
  const std::vector<Change> changes = find_changes(history, options);
  return changes.empty() ? 0 : changes.back().last;
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
    const std::size_t start = level_start(run.history, options_.history);
    std::vector<double> level;
    const std::size_t end = run.history.size();
    const std::size_t newest = end - std::min(end, options_.most_runs);
    for (std::size_t k = std::max(start, newest); k < end; ++k)
      level.push_back(std::log(run.history[k]));
    const auto n = static_cast<double>(level.size());
    if (level.size() < std::max<std::size_t>(options_.least_runs, 3)) {
      result.verdict = Verdict::unmeasurable;
      result.reason = start > 0 ? str(level.size(), " runs since its last change, ",
                                      options_.least_runs, " are needed")
                                : str(level.size(), " runs in its history, ", options_.least_runs,
                                      " are needed");
      return;
    }
    double mean = 0, squares = 0;
    for (const double value : level) mean += value / n;
    for (const double value : level) squares += (value - mean) * (value - mean);
    // One more run and the level's mean differ by s sqrt(1 + 1/n); Effect has s / sqrt(blocks).
    const double deviation = std::sqrt(squares / (n - 1)) * std::sqrt(n + 1);
    result.effect = effect_around(std::log(run.value) - mean, deviation, level.size(), n - 1);
    result.p = p_value(result.effect, ignored_[i]);
    // Runs have outliers, more of them than the normal distribution: a change is farther from the
    // mean than any of the level's.
    for (const double value : level)
      farthest_[i] = std::max(farthest_[i], kBeyond * std::abs(value - mean));
    if (std::abs(std::log(result.effect.ratio)) <= farthest_[i]) result.p = 1;
    judged_.push_back(i);
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
