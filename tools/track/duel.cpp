#include "tools/track/duel.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "support/error.h"

namespace tcc::tools {
namespace {

constexpr double kSampleSeconds = 0.4e-3;  // of one measurement at least: timers have steps
constexpr double kBlockSeconds = 60e-3;    // of all pairs, where a run is short
constexpr int kLeastPairs = 4, kMostPairs = 24;
constexpr int kMostReplays = 1000;
// Results of two builds differ by rounding; beyond this of their scale one of them is wrong.
constexpr double kDifference = 0.02;

Duels::Side compiled(const Library& library, const TrackCase& one, const TrackCompile& options) {
  try {
    return {std::make_unique<Contestant>(library, one, options), "", 0};
  } catch (const std::exception& error) { return {nullptr, error.what(), 0}; }
}

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

Duels::Duels(const Library& base, const Library& head, const std::vector<TrackCase>& cases,
             const TrackCompile& options, const std::function<void(size_t)>& told) {
  for (const TrackCase& one : cases) {
    cases_.push_back({compiled(base, one, options), compiled(head, one, options)});
    if (told) told(cases_.size());
  }
}

track::Block Duels::block(size_t number) {
  Case& one = cases_[number];
  for (const auto& [side, name] : {std::pair(&one.base, "base"), std::pair(&one.head, "head")})
    if (!side->contestant) fail_device(name, ": ", side->failure);
  // The first block measures what was compiled for the facts.
  const bool head_first = one.blocks % 2 == 1;
  if (one.blocks++ > 0) {
    (head_first ? one.head : one.base).contestant->reload();
    (head_first ? one.base : one.head).contestant->reload();
  }
  std::optional<Contestant::Session> base, head;
  if (head_first) head.emplace(one.head.contestant->open());
  base.emplace(one.base.contestant->open());
  if (!head_first) head.emplace(one.head.contestant->open());
  if (one.difference < 0) one.difference = relative_difference(base->outputs(), head->outputs());
  if (!(one.difference <= kDifference))
    fail_device("the results differ by ", one.difference, " of their scale");

  base->time(1), head->time(1);
  const double once = std::max({base->time(1), head->time(1), 1e-7});
  const int replays =
      std::clamp(static_cast<int>(std::ceil(kSampleSeconds / once)), 1, kMostReplays);
  const double sample = once * replays;
  const int pairs =
      std::clamp(static_cast<int>(kBlockSeconds / sample / 2), kLeastPairs, kMostPairs);
  track::Block block;
  std::vector<double> bases, heads;
  for (int i = 0; i < pairs; ++i) {
    track::Pair pair;
    const bool swap = i % 2 == 1;
    if (swap) pair.head = head->time(replays);
    pair.base = base->time(replays);
    if (!swap) pair.head = head->time(replays);
    block.push_back(pair);
    bases.push_back(pair.base);
    heads.push_back(pair.head);
  }
  one.base.seconds = median_of(std::move(bases));
  one.head.seconds = median_of(std::move(heads));
  return block;
}

}  // namespace tcc::tools
