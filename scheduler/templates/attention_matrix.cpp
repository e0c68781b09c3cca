#include "scheduler/templates/attention_matrix.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <vector>

#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// How long workgroups run that take tiles in turn, in tiles of keys: those of `packs` packs of
// batches, `heads` of which are walked together, the longest tiles first.
double dispatched(const std::vector<int64_t>& lengths, int64_t packs, int64_t heads,
                  int64_t slots) {
  constexpr double kBetween = 2;  // tiles that take as long as what begins and ends one of queries
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  for (int64_t slot = 0; slot < slots; ++slot) ends.push(0);
  double last = 0;
  for (int64_t first = 0; first < packs; first += heads)
    for (size_t tile = lengths.size(); tile-- > 0;)
      for (int64_t head = first; head < std::min(packs, first + heads); ++head) {
        const double end = ends.top() + static_cast<double>(lengths[tile]) + kBetween;
        ends.pop();
        ends.push(end);
        last = std::max(last, end);
      }
  return last;
}

// The fewest heads that end almost as early as any number does.
int64_t walked_together(const std::vector<int64_t>& lengths, int64_t packs, int64_t slots) {
  constexpr double kWorth = 0.99;
  // Long sequences of packs repeat themselves.
  constexpr int64_t kMostTiles = 8192;
  const auto tiles = static_cast<int64_t>(lengths.size());
  packs = std::clamp<int64_t>(kMostTiles / tiles, 1, packs);
  int64_t best = 1;
  double best_end = HUGE_VAL;
  for (int64_t heads = 1; heads <= packs; heads = heads < 16 ? heads + 1 : heads * 5 / 4) {
    const double end = dispatched(lengths, packs, heads, slots);
    if (end >= best_end * kWorth) continue;
    best = heads;
    best_end = end;
  }
  return best;
}

}  // namespace

OrRefusal<AttentionPlan> plan_matrix_attention(const Region& region) {
  OrRefusal<AttentionPlan> plan = plan_attention(region);
  if (!plan) return plan.refusal();
  for (const auto& [operand, name] : named_operands(*plan)) {
    if (operand->dtype != DType::bf16 && operand->dtype != DType::f16)
      return Refusal{str(name, " of ", tcc::name(operand->dtype),
                         ", and attention on matrix units takes f16 and bf16 alone")};
    if (operand->dtype != plan->q.dtype)
      return Refusal{str(name, " of ", tcc::name(operand->dtype), " with queries of ",
                         tcc::name(plan->q.dtype))};
  }
  if (plan->batches() * plan->queries == 0 || plan->keys == 0)
    return Refusal{"no queries, or no keys"};
  return plan;
}

int64_t packed_batches(int64_t sharing, int64_t queries, int64_t block_q) {
  for (int64_t pack = std::min(sharing, block_q / queries); pack > 1; --pack)
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

TileOrder order_of_tiles(const AttentionPlan& plan, int64_t block_q, int64_t block_k, int64_t packs,
                         int64_t slots) {
  std::vector<int64_t> lengths;
  for (int64_t first = 0; first < plan.queries; first += block_q)
    lengths.push_back(
        plan.key_tiles(0, first, std::min(first + block_q, plan.queries) - 1, block_k));
  if (std::ranges::adjacent_find(lengths, std::not_equal_to<>()) == lengths.end()) return {};
  return {true, walked_together(lengths, packs, slots)};
}

}  // namespace tcc::sched
