#include "autotune/duel.h"

#include <algorithm>

namespace tcc::autotune {
namespace {

constexpr int kMostDuelRounds = 4;
constexpr int kRoundsToWin = 2;  // what disturbs the device for one round decides nothing

bool passed(const Measurement& m) { return m.status == Measurement::Status::measured; }

// `one` together with what was measured before.
void join(Measurement& all, Measurement one) {
  all.samples.insert(all.samples.end(), one.samples.begin(), one.samples.end());
  one.samples = std::move(all.samples);
  all = std::move(one);
  all.seconds = median(all.samples);
  const Interval interval = median_interval(all.samples);
  all.low = interval.low;
  all.high = interval.high;
}

void compare(DuelResult& result) {
  const std::vector<double>&a = result.incumbent.samples, &b = result.challenger.samples;
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(b[i] / a[i]);
  result.pairs = ratios.size();
  result.ratio = median(ratios);
  result.interval = order_interval(ratios);
}

}  // namespace

bool DuelResult::won() const {
  return valid && pairs >= kFewestForOrder && interval.high < 1 && ratio * kSignificantGain <= 1 &&
         challenger.seconds < incumbent.seconds;
}

bool DuelResult::lost() const {
  return !valid || (pairs >= kFewestForOrder && interval.low * kSignificantGain > 1);
}

DuelResult duel(Bench& bench, const exec::StandaloneSequence& incumbent,
                const exec::StandaloneSequence& challenger, const std::function<bool()>& hurry) {
  DuelResult result;
  for (int round = 1, rounds_won = 0; round <= kMostDuelRounds; ++round) {
    auto [a, b] = bench.duel(incumbent, challenger);
    result.valid = passed(a) && passed(b) && !a.samples.empty() && !b.samples.empty();
    if (!result.valid) {
      result.incumbent = std::move(a);
      result.challenger = std::move(b);
      return result;
    }
    join(result.incumbent, std::move(a));
    join(result.challenger, std::move(b));
    compare(result);
    if (result.pairs < kFewestForOrder) {
      --round;  // of a slow kernel's few runs, or of one that says little
      continue;
    }
    rounds_won += result.won();
    if (result.lost() || rounds_won >= kRoundsToWin || (hurry && hurry())) break;
  }
  return result;
}

}  // namespace tcc::autotune
