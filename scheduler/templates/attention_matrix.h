// The templates of attention on matrix units share these parts.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/device/common/attention_operand.h"
#include "scheduler/templates/attention_hooks.h"
#include "scheduler/templates/attention_plan.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/work.h"
#include "support/error.h"

namespace tcc::sched {

// The elements that a kernel on matrix units reads: f16 and bf16, and f32 as tf32 where the region
// allows it and the kernel does so.
enum class UnitElements { of_16_bits, of_16_bits_and_tf32 };
// Analyses a region as plan_attention does. Refuses other elements, and attention that has no
// queries or keys at any size.
OrRefusal<AttentionPlan> plan_matrix_attention(const Region& region,
                                               UnitElements elements = UnitElements::of_16_bits);

// As many batches that share keys and values as have room for their queries in a tile; one where
// the number of queries is open.
int64_t packed_batches(const AttentionPlan& plan, int64_t sharing, int64_t block_q);

// Tiles of keys that the tiles of queries of one batch walk over, on the average and at most.
struct KeyWalk {
  double mean = 0, longest = 0;
};
KeyWalk walk_over_keys(const AttentionPlan& plan, int64_t block_q, int64_t block_k);
// Those of all blocks of queries and of keys.
using KeyWalks = std::map<std::pair<int64_t, int64_t>, KeyWalk>;
KeyWalks walks_over_keys(const AttentionPlan& plan, const std::vector<int64_t>& blocks_q,
                         const std::vector<int64_t>& blocks_k);

// How long a launch takes whose workgroups walk over the keys of a tile of queries each.
struct WalkCost {
  KeyWalk walk;           // over all keys
  int64_t parts = 1;      // workgroups that share the keys and store their parts,
  int64_t cluster = 1;    // or combine them as a cluster
  double least = 0;       // tiles of keys that each of these has
  double step = 0;        // cycles of a tile of keys,
  double begun = 0;       // and those that begin and end a tile of queries
  double workgroups = 1;  // of the launch
  double busy = 1;        // of these, on one unit at once
  double bytes = 0;       // of the region
};
double predicted_seconds(const WalkCost& cost, const AttentionPlan& plan, const Target& target);

// The tiles of keys that each tile of queries walks over, of the first batch.
std::vector<int64_t> lengths_of_walks(const AttentionPlan& plan, int64_t block_q, int64_t block_k);

// How workgroups take tiles of queries in turn: where these differ in their numbers of keys, the
// longest first, of so many packs of batches together as end almost as early as any number does.
// Few packs keep their keys and values in cache.
struct TileOrder {
  bool by_length = false;
  int64_t heads = 1;
};
// The device starts a workgroup for each tile as soon as another one has ended, or as many as there
// are slots stay, and tiles go to the first, the second .. the last, then back to the first.
enum class Turns { as_slots_end, forth_and_back };
TileOrder order_of_tiles(const AttentionPlan& plan, int64_t block_q, int64_t block_k, int64_t packs,
                         int64_t slots, Turns turns);

// The operands with their names in messages.
inline std::array<std::pair<const AttentionPlan::Operand*, const char*>, 3> named_operands(
    const AttentionPlan& plan) {
  return {{{&plan.q, "queries"}, {&plan.k, "keys"}, {&plan.v, "values"}}};
}

// The neighbouring keys that the weight hook of a matrix kernel is about, 0 where there is none:
// four where rows of scores are so many times four, since dropout's generator makes four numbers at
// once.
inline int64_t keys_of_weight_hook(const AttentionPlan& plan) {
  if (!plan.weight) return 0;
  return plan.all_keys.divisible_by(4) ? 4 : 2;
}

// Sets the sizes that estimates take.
template <class Parameters>
void set_sizes(Parameters& a, const AttentionPlan& plan) {
  a.batches = plan.batches();
  a.queries = plan.queries;
  a.keys = plan.keys;
}

// Leaves the sizes that come at run time to a kernel: they are 0 in the parameters, and numbers
// that it gets.
template <class Parameters>
void leave_sizes_open(Parameters& a, Kernel& kernel, const AttentionPlan& plan) {
  const std::tuple<const char*, SymInt, kernels::Int Parameters::*> sizes[] = {
      {"SIZE_BATCHES", plan.all_batches(), &Parameters::batches},
      {"SIZE_QUERIES", plan.all_queries, &Parameters::queries},
      {"SIZE_KEYS", plan.all_keys, &Parameters::keys}};
  for (const auto& [name, size, field] : sizes) {
    if (size.is_const()) continue;
    a.*field = 0;
    kernel.counts.push_back({name, size});
  }
}

// Sets the parameters that say what is computed, whatever the config.
template <class Parameters>
void set_plan(Parameters& a, const AttentionPlan& plan) {
  set_sizes(a, plan);
  a.depth = plan.q.depths;
  a.depth_v = plan.v.depths;
  a.element = element_of(plan.q.dtype);
  a.scale_bits = std::bit_cast<int32_t>(static_cast<float>(plan.scale * std::numbers::log2e));
  a.plain = plan.is_scaled;
  a.safe = plan.safe;
  a.sums = !plan.sums.empty();
  a.weights = keys_of_weight_hook(plan);
  a.by_query = plan.bounds_of_queries;
  a.bounded = plan.bounds_are_all;
}

// Where a kernel calls the hooks of scores and of weights.
struct HookPlaces {
  int64_t scores = 1;               // of a thread and a tile,
  int64_t pairs = 1;                // in so many pairs of eights of keys
  int64_t scored = 1, weighed = 1;  // places where all of them are scored, and weighed
  double most = 0;                  // instructions that all places may have together
};
// Sets the rounds in which a kernel on CUDA calls long hooks. Unrolled for all scores in each place
// they would take the compiler seconds, and have no room in the cache of instructions; short ones
// take less time where they are unrolled.
template <class Parameters>
void set_rounds(Parameters& a, const AttentionPlan& plan, const HookPlaces& of) {
  constexpr double kShort = 24;
  const auto rounds = [&](double text, int64_t places) {
    const double all = text * static_cast<double>(of.scores * places);
    int64_t least = 1;
    while (text > kShort && least < of.pairs &&
           (of.pairs % least != 0 || all > of.most * static_cast<double>(least)))
      ++least;
    return least;
  };
  if (!plan.is_scaled) a.score_rounds = rounds(text_slots(std::vector{plan.score}), of.scored);
  // One of four neighbours asks for the numbers of all.
  if (plan.weight)
    a.weight_rounds =
        rounds(text_slots(std::vector{plan.weight}) / (a.weights == 4 ? 4 : 1), of.weighed);
}

// Adds the hooks by which a kernel brings its operands: those that are copied as they are in memory
// by `copied`, whose name begins with `prefix`.
template <class Parameters>
void add_operand_hooks(Kernel& kernel, const AttentionPlan& plan, const AttentionHooks& hooks,
                       const Parameters& a,
                       Hook (AttentionHooks::*copied)(const AttentionPlan::Operand&, std::string)
                           const,
                       const char* prefix) {
  const std::tuple<const AttentionPlan::Operand*, const kernels::AttentionOperand*, const char*>
      operands[] = {{&plan.q, &a.q, "q"}, {&plan.k, &a.k, "k"}, {&plan.v, &a.v, "v"}};
  for (const auto& [operand, described, name] : operands) {
    if (described->load == kernels::Load::computed) {
      kernel.hooks.push_back(hooks.load(*operand, str("load_", name)));
      continue;
    }
    kernel.hooks.push_back(described->apart ? hooks.row(*operand, str("row_", name))
                                            : (hooks.*copied)(*operand, str(prefix, name)));
    if (described->load != kernels::Load::tiles) continue;
    Argument& argument = kernel.arguments[static_cast<size_t>(described->buffer)];
    argument.needed =
        std::max<int64_t>(argument.needed, described->vector * size_bytes(operand->dtype));
  }
}

// Adds the hooks of neighbouring keys, of scores and of `weights` weights where these are changed,
// and of the keys that are walked over.
inline void add_key_hooks(Kernel& kernel, const AttentionPlan& plan, const AttentionHooks& hooks,
                          int64_t weights) {
  if (!plan.bounds_are_all) kernel.hooks.push_back(hooks.score("score"));
  if (!plan.is_scaled) kernel.hooks.push_back(hooks.score_inside("score_inside"));
  const HeldWords held = hooks.held_words();
  if (held.score > 0) kernel.hooks.push_back(hooks.hold_score("hold_score"));
  if (held.inside > 0) kernel.hooks.push_back(hooks.hold_inside("hold_inside"));
  if (plan.weight) kernel.hooks.push_back(hooks.weight("weight", weights));
  kernel.hooks.push_back(plan.bounds_of_queries ? hooks.key_range_of_query("key_range")
                                                : hooks.key_range("key_range"));
}

}  // namespace tcc::sched
