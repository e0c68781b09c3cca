#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/error.h"
#include "tcc/progress.hpp"
#include "tcc/track.hpp"
#include "track/inference.h"

namespace tcc::track {
namespace {

using Verdict = CaseResult::Verdict;

// Deviations of few blocks are uncertain, so a larger one is assumed when the number of blocks is
// chosen.
constexpr double kCaution = 1.25;
// Blocks of one case in the screening.
constexpr int kReplans = 2;  // of the confirmation
constexpr std::size_t kMostScreening = 24, kUnsure = 14;

void check_probability(const char* what, double value) {
  if (!(value > 0 && value < 1)) fail_input(what, " is ", value, "; it lies between 0 and 1");
}

// One case under way.
struct State {
  std::vector<Block> screening, confirmation;
  std::size_t planned = 0;  // blocks of the confirmation
  std::string failure;
};

class Run {
 public:
  Run(const Comparison& comparison, std::span<const std::string> names,
      const Comparison::Measure& measure, const Comparison::Progress& progress)
      : comparison_(comparison),
        options_(comparison.options()),
        names_(names),
        measure_(measure),
        progress_(progress),
        states_(names.size()) {}

  std::vector<CaseResult> run() {
    screen();
    screened_ = !stopped_;
    const std::vector<std::size_t> suspects = suspicious();
    if (screened_) confirm(suspects);
    return results(suspects);
  }

 private:
  // In rounds over all cases, so that a slow change of the machine meets all blocks of a case
  // alike and shows in their deviation.
  template <class Wanted>
  void rounds(std::vector<Block> State::*blocks, const Wanted& wanted) {
    for (bool more = true; more && !stopped_;) {
      more = false;
      for (std::size_t i = 0; i < states_.size() && !stopped_; ++i) {
        State& state = states_[i];
        if (!state.failure.empty() || (state.*blocks).size() >= wanted(i)) continue;
        try {
          (state.*blocks).push_back(measure_(i));
          paired_effect({&(state.*blocks).back(), 1});  // says what is wrong with it
        } catch (const Cancelled&) {
          stopped_ = true;
          return;
        } catch (const std::exception& error) { state.failure = error.what(); }
        ++done_;
        more = true;
        if (progress_ && !progress_(done_, std::max(done_, planned(blocks, wanted))))
          stopped_ = true;
      }
    }
  }

  template <class Wanted>
  std::size_t planned(std::vector<Block> State::*blocks, const Wanted& wanted) const {
    std::size_t left = 0;
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (states_[i].failure.empty() && (states_[i].*blocks).size() < wanted(i))
        left += wanted(i) - (states_[i].*blocks).size();
    return done_ + left;
  }

  void screen() {
    rounds(&State::screening, [&](std::size_t) { return options_.screening_blocks; });
    // More of those whose noise hides the smallest change, unless it hides it for good. What the
    // screening does has no influence on the rate of false alarms.
    const std::size_t most = std::min(kMostScreening, options_.most_blocks);
    rounds(&State::screening, [&](std::size_t i) {
      const State& state = states_[i];
      const std::size_t have = state.screening.size();
      if (have % 2 == 1) return have + 1;
      const Effect effect = paired_effect(state.screening);
      const double deviation = effect.deviation;
      const auto sees = [&](std::size_t blocks) {
        return power(options_.smallest, deviation, blocks, options_.screening_level,
                     options_.ignored) >= std::sqrt(options_.power);
      };
      if (have >= most || sees(have)) return have;
      // One bad block can make a deviation of few look hopeless.
      const bool looks_changed =
          std::abs(std::log(effect.ratio)) > std::log1p(options_.ignored) && have < kUnsure;
      return sees(most) || looks_changed ? have + 2 : have;
    });
  }

  std::vector<std::size_t> suspicious() const {
    std::vector<std::size_t> suspects;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const State& state = states_[i];
      if (!state.failure.empty() || state.screening.size() < 2) continue;
      if (p_value(paired_effect(state.screening), options_.ignored) <= options_.screening_level)
        suspects.push_back(i);
    }
    return suspects;
  }

  void confirm(const std::vector<std::size_t>& suspects) {
    for (const std::size_t i : suspects)
      states_[i].planned =
          blocks_for(paired_effect(states_[i].screening).deviation, suspects.size());
    const auto planned = [&](std::size_t i) { return states_[i].planned; };
    rounds(&State::confirmation, planned);
    // The screening may have met less noise. How many blocks there are depends on the noise alone,
    // never on the effect, so that the level of the test stays what it is (Stein, 1945).
    for (int again = 0; again < kReplans && !stopped_; ++again) {
      for (const std::size_t i : suspects) {
        State& state = states_[i];
        if (!state.failure.empty() || state.confirmation.size() < 2) continue;
        const double deviation = paired_effect(state.confirmation).deviation;
        state.planned = std::max(state.planned, blocks_for(deviation, suspects.size()));
      }
      rounds(&State::confirmation, planned);
    }
  }

  std::size_t blocks_for(double deviation, std::size_t confirmed) const {
    const double level = options_.false_alarms / static_cast<double>(confirmed);
    for (std::size_t n = options_.least_blocks; n < options_.most_blocks; n += 2)
      if (power(options_.smallest, deviation * kCaution, n, level, options_.ignored) >=
          std::sqrt(options_.power))
        return n;
    return options_.most_blocks;
  }

  std::vector<CaseResult> results(const std::vector<std::size_t>& suspects) const {
    std::vector<CaseResult> results(names_.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      CaseResult& result = results[i];
      const State& state = states_[i];
      result.name = names_[i];
      if (!state.screening.empty() && state.failure.empty())
        result.screened = result.effect = paired_effect(state.screening);
      if (!state.failure.empty()) {
        result.verdict = Verdict::failed;
        result.reason = state.failure;
      } else if (!screened_ || state.confirmation.size() < state.planned) {
        result.verdict = Verdict::unmeasurable;
        result.reason = "interrupted";
      } else {
        judge(result, state, suspects.size());
      }
    }
    correct(results, suspects);
    for (std::size_t i = 0; i < results.size(); ++i) conclude(results[i], states_[i]);
    return results;
  }

  void judge(CaseResult& result, const State& state, std::size_t confirmed) const {
    if (!state.confirmation.empty()) {
      result.effect = paired_effect(state.confirmation);
      result.p = p_value(result.effect, options_.ignored);
    }
    const double deviation = result.effect.deviation;
    const std::size_t others = std::max<std::size_t>(confirmed, 1);
    const std::size_t blocks =
        state.confirmation.empty() ? blocks_for(deviation, others) : state.confirmation.size();
    result.visible = comparison_.visible(deviation, state.screening.size(), blocks, others);
  }

  void correct(std::vector<CaseResult>& results, const std::vector<std::size_t>& suspects) const {
    std::vector<double> p;
    for (const std::size_t i : suspects) p.push_back(results[i].p);
    p = holm(p);
    for (std::size_t k = 0; k < suspects.size(); ++k) results[suspects[k]].p = p[k];
  }

  void conclude(CaseResult& result, const State& state) const {
    if (result.verdict != Verdict::same) return;
    if (!state.confirmation.empty() && result.p <= options_.false_alarms) {
      result.verdict = result.effect.ratio > 1 ? Verdict::slower : Verdict::faster;
    } else if (result.visible > options_.smallest) {
      result.verdict = Verdict::unmeasurable;
      result.reason = str("noise hides changes below ", std::round(result.visible * 1e4) / 100,
                          " %, ", options_.smallest * 100, " % was asked for");
    }
  }

  const Comparison& comparison_;
  const CompareOptions& options_;
  std::span<const std::string> names_;
  const Comparison::Measure& measure_;
  const Comparison::Progress& progress_;
  std::vector<State> states_;
  std::size_t done_ = 0;
  bool stopped_ = false, screened_ = false;
};

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return "same";
    case Verdict::slower: return "slower";
    case Verdict::faster: return "faster";
    case Verdict::unmeasurable: return "unmeasurable";
    case Verdict::failed: return "failed";
  }
  throw InternalError("a verdict of unknown kind");
}

Comparison::Comparison(const CompareOptions& options) : options_(options) {
  if (options_.ignored < 0) options_.ignored = options_.smallest / 2;
  check_probability("the rate of false alarms", options_.false_alarms);
  check_probability("the power", options_.power);
  check_probability("the screening's level", options_.screening_level);
  if (!(options_.smallest > 0 && options_.smallest < kLargestChange))
    fail_input("the smallest change is ", options_.smallest, "; it lies between 0 and ",
               kLargestChange);
  if (!(options_.ignored < options_.smallest))
    fail_input("changes up to ", options_.ignored, " are ignored, and the smallest to be seen is ",
               options_.smallest);
  if (options_.screening_blocks < 2 || options_.least_blocks < 2)
    fail_input("two blocks are the least that have a deviation");
  for (std::size_t* blocks :
       {&options_.screening_blocks, &options_.least_blocks, &options_.most_blocks})
    *blocks += *blocks % 2;
  options_.most_blocks =
      std::max({options_.most_blocks, options_.least_blocks, options_.screening_blocks});
}

std::vector<CaseResult> Comparison::run(std::span<const std::string> names, const Measure& measure,
                                        const Progress& progress) const {
  return Run(*this, names, measure, progress).run();
}

double Comparison::visible(double deviation, std::size_t screened, std::size_t blocks,
                           std::size_t confirmed) const {
  const double level =
      options_.false_alarms / static_cast<double>(std::max<std::size_t>(confirmed, 1));
  return smallest_seen(options_.ignored, [&](double change) {
    return power(change, deviation, screened, options_.screening_level, options_.ignored) *
               power(change, deviation, blocks, level, options_.ignored) >=
           options_.power;
  });
}

}  // namespace tcc::track
