#include "scheduler/templates/attention_matrix.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "scheduler/templates/attention_parts.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// How long workgroups run that take tiles in turn, in tiles of keys: those of `packs` packs of
// batches, `heads` of which are walked together, the longest tiles first.
double longest_run(const std::vector<int64_t>& lengths, int64_t packs, int64_t heads, int64_t slots,
                   Turns turns) {
  const auto each_tile = [&](const auto& take) {
    for (int64_t first = 0; first < packs; first += heads)
      for (size_t tile = lengths.size(); tile-- > 0;)
        for (int64_t head = first; head < std::min(packs, first + heads); ++head)
          take(static_cast<double>(lengths[tile]));
  };
  double last = 0;
  if (turns == Turns::forth_and_back) {
    constexpr double kBetween = 1.5;  // tiles that take as long as what begins and ends one
    std::vector<double> walked(static_cast<size_t>(slots));
    int64_t n = 0;
    each_tile([&](double length) {
      const int64_t round = n / slots, place = n % slots;
      double& own = walked[static_cast<size_t>(round % 2 ? slots - 1 - place : place)];
      last = std::max(last, own += length + kBetween);
      ++n;
    });
  } else {
    constexpr double kBetween = 2;
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;
    for (int64_t slot = 0; slot < slots; ++slot) ends.push(0);
    each_tile([&](double length) {
      const double end = ends.top() + length + kBetween;
      ends.pop();
      ends.push(end);
      last = std::max(last, end);
    });
  }
  return last;
}

// The fewest heads that end almost as early as any number does.
int64_t walked_together(const std::vector<int64_t>& lengths, int64_t packs, int64_t slots,
                        Turns turns) {
  constexpr double kWorth = 0.99;
  // Long sequences of packs repeat themselves.
  constexpr int64_t kMostTiles = 8192, kMostPacks = 1024;
  const auto tiles = static_cast<int64_t>(lengths.size());
  packs = std::clamp<int64_t>(turns == Turns::forth_and_back ? kMostPacks : kMostTiles / tiles, 1,
                              packs);
  int64_t best = 1;
  double best_end = HUGE_VAL;
  for (int64_t heads = 1; heads <= packs; heads = heads < 16 ? heads + 1 : heads * 5 / 4) {
    const double end = longest_run(lengths, packs, heads, slots, turns);
    if (end >= best_end * kWorth) continue;
    best = heads;
    best_end = end;
  }
  return best;
}

// Returns why a kernel that reads such elements does not read others, or "".
std::string why_not_read(DType dtype, const Region& region, UnitElements elements) {
  if (dtype == DType::bf16 || dtype == DType::f16) return "";
  if (elements == UnitElements::of_16_bits)
    return "and attention on these matrix units takes f16 and bf16 alone";
  if (dtype != DType::f32)
    return "and attention on these matrix units takes f16, bf16, and f32 as tf32";
  return region.tf32 ? "" : "which matrix units read as tf32, with --matmul-precision high";
}

}  // namespace

OrRefusal<AttentionPlan> plan_matrix_attention(const Region& region, UnitElements elements) {
  OrRefusal<AttentionPlan> plan = plan_attention(region);
  if (!plan) return plan.refusal();
  for (const auto& [operand, name] : named_operands(*plan)) {
    if (const std::string why = why_not_read(operand->dtype, region, elements); !why.empty())
      return Refusal{str(name, " of ", tcc::name(operand->dtype), ", ", why)};
    if (operand->dtype != plan->q.dtype)
      return Refusal{str(name, " of ", tcc::name(operand->dtype), " with queries of ",
                         tcc::name(plan->q.dtype))};
  }
  if (plan->all_batches().is(0) || plan->all_queries.is(0) || plan->all_keys.is(0))
    return Refusal{"no queries, or no keys"};
  return plan;
}

int64_t packed_batches(const AttentionPlan& plan, int64_t sharing, int64_t block_q) {
  if (!plan.all_queries.is_const()) return 1;
  for (int64_t pack = std::min(sharing, block_q / plan.queries); pack > 1; --pack)
    if (sharing % pack == 0) return pack;
  return 1;
}

KeyWalk walk_over_keys(const AttentionPlan& plan, int64_t block_q, int64_t block_k) {
  constexpr int64_t kSamples = 16;
  const int64_t tiles = ceil_div(plan.queries, block_q), samples = std::min(tiles, kSamples);
  KeyWalk walk;
  for (int64_t sample = 0; sample < samples; ++sample) {
    const int64_t first = (sample + 1) * tiles / samples * block_q - block_q;
    const auto length = static_cast<double>(plan.key_tiles(
        plan.batches() / 2, first, std::min(first + block_q, plan.queries) - 1, block_k));
    walk.mean += length / static_cast<double>(samples);
    walk.longest = std::max(walk.longest, length);
  }
  return walk;
}

KeyWalks walks_over_keys(const AttentionPlan& plan, const std::vector<int64_t>& blocks_q,
                         const std::vector<int64_t>& blocks_k) {
  KeyWalks walks;
  for (const int64_t block_q : blocks_q)
    for (const int64_t block_k : blocks_k)
      walks[{block_q, block_k}] = walk_over_keys(plan, block_q, block_k);
  return walks;
}

double predicted_seconds(const WalkCost& cost, const AttentionPlan& plan, const Target& target) {
  constexpr double kLaunch = 2e-6, kBandwidth = 1.1;
  constexpr double kExchange = 1500;  // cycles until the parts of a cluster are combined
  const auto parts = static_cast<double>(cost.parts * cost.cluster);
  const KeyWalk& walk = cost.walk;
  const auto shared = [&](double all) {
    return std::max(cost.least, parts > 1 ? std::ceil(all / parts) : all);
  };
  const double tiles = shared(walk.mean), longest = shared(walk.longest);
  const double rounds = std::max(1.0, cost.workgroups / (target.compute_units * cost.busy));
  const double cycles =
      walk.longest == walk.mean
          ? std::ceil(rounds) * (tiles * cost.step + cost.begun)
          : std::max(rounds * (tiles * cost.step + cost.begun), longest * cost.step + cost.begun);
  const double computing = (cycles + (cost.cluster > 1 ? kExchange : 0)) / target.clock(),
               moving = cost.bytes / (target.bandwidth * kBandwidth);
  double seconds = kLaunch + std::max(computing, moving) + 0.3 * std::min(computing, moving);
  if (cost.parts > 1) seconds += AttentionKeyParts::combining_seconds(plan, cost.parts, target);
  return seconds;
}

std::vector<int64_t> lengths_of_walks(const AttentionPlan& plan, int64_t block_q, int64_t block_k) {
  std::vector<int64_t> lengths;
  for (int64_t first = 0; first < plan.queries; first += block_q)
    lengths.push_back(
        plan.key_tiles(0, first, std::min(first + block_q, plan.queries) - 1, block_k));
  return lengths;
}

TileOrder order_of_tiles(const AttentionPlan& plan, int64_t block_q, int64_t block_k, int64_t packs,
                         int64_t slots, Turns turns) {
  const std::vector<int64_t> lengths = lengths_of_walks(plan, block_q, block_k);
  if (std::ranges::adjacent_find(lengths, std::not_equal_to<>()) == lengths.end()) return {};
  return {true, walked_together(lengths, packs, slots, turns)};
}

}  // namespace tcc::sched
