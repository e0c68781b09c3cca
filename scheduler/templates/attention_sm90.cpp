// Attention on the matrix units of sm_90a (wgmma, TMA): the loops are
// backends/device/cuda/attention_sm90.cu; regions add what attention_hooks.h says.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "backends/device/common/attention_sm90_shape.h"
#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/templates/attention_candidate.h"
#include "scheduler/templates/attention_columns.h"
#include "scheduler/templates/attention_matrix.h"
#include "scheduler/templates/attention_parts.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/templates/matrix_operand.h"
#include "scheduler/templates/rule_space.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_attention_sm90 {
namespace {

using kernels::AttentionSm90;
namespace sm90 = kernels::attention_sm90;

// A warpgroup multiplies 64 rows, a warp 16: kernels of mma take up to 16 queries, and up to 32 of
// heads that share keys.
constexpr int64_t kFewQueries = 16, kFewShared = 32;
constexpr int64_t kSegment = 8;   // neighbours of a row that the epilogue gets
constexpr int64_t kAddress = 16;  // bytes: tensor maps begin at multiples

// All configs of a plan have these in common.
AttentionSm90 parameters_of_plan(const AttentionPlan& plan) {
  AttentionSm90 a;
  set_plan(a, plan);
  const auto rank = [](const AttentionPlan::Operand& operand) {
    return static_cast<int64_t>(operand.view->batch.size()) + 2;
  };
  if (plan.q.is_copied())
    a.rank_q = rank(plan.q);
  else
    a.q_vector = plan.q.vector;
  a.rank_k = rank(plan.k);
  a.rank_v = rank(plan.v);
  AttentionTile tile;
  tile.holds = true;
  const HeldWords held = AttentionHooks(plan, tile).held_words();
  a.held = held.score;
  a.held_inside = held.inside;
  a.held_apart = held.apart;
  a.held_distances = held.distances;
  const bool is_open = !plan.all_keys.is_const();
  a.all_seen = !plan.seen && (is_open || (!plan.is_scaled && held.inside == 0));
  a.some_held = is_open && plan.seen && held.score > 0;
  if (const auto small = small_products(plan); small && !plan.is_scaled)
    a.small_bits = std::bit_cast<int32_t>(*small);
  return a;
}

struct Attention {
  using Values = AttentionSm90;
  using Shape = AttentionSm90;
  const AttentionSm90& values() const { return common; }
  const AttentionSm90& shape(const AttentionSm90& a) const { return a; }

  AttentionPlan plan;
  Target target;
  AttentionSm90 common = parameters_of_plan(plan);
  int64_t longest_keys = plan.at_longest().keys;
};

constexpr Rule<AttentionSm90, Attention> kRules[] = {
    {"accumulators fit into registers",
     [](const auto& a, const auto&) { return sm90::fits_registers(a); }},
    {"the tiles fit into shared memory",
     [](const auto& a, const Attention& of) {
       return sm90::shared_bytes(a) <= of.target.shared_bytes;
     }},
    {"keys are split into parts of two tiles or more",
     [](const auto& a, const Attention& of) {
       return a.parts == 1 || a.parts * 2 * a.block_k <= of.longest_keys;
     }},
    {"queries that are computed have one stage",
     [](const auto& a, const Attention& of) {
       return of.plan.q.is_copied() || a.query_stages == 1;
     }},
    {"one group has no turns", [](const auto& a, const auto&) { return a.groups > 1 || !a.turns; }},
};

using AttentionRules = RuleSpace<Attention>;

std::vector<Field<AttentionSm90>> all_fields() {
  using V = AttentionSm90;
  return {{"groups", {1, 2, 3}, "warpgroups that multiply, 64 queries each", &V::groups},
          {"block_k",
           {16, 32, 64, 80, 96, 112, 128, 160, 176, 192, 208, 224},
           "keys of a tile",
           &V::block_k},
          {"stages", {1, 2, 3, 4}, "tiles of keys, and of values, in shared memory", &V::stages},
          {"query_stages", {1, 2}, "tiles of queries in shared memory", &V::query_stages},
          {"split_keys",
           {1, 2, 4, 8, 16, 32, 64},
           "workgroups that share the keys of a query",
           &V::parts},
          {"turns",
           {0, 1},
           "whether groups take turns: one weighs while the others multiply",
           &V::turns},
          field_of_lists<V>()};
}

AttentionRules rules_of(AttentionPlan plan, const Target& target) {
  std::vector<Field<AttentionSm90>> fields = all_fields();
  // Keys are split where tiles of queries leave units idle.
  const int64_t tiles = plan.batches() * ceil_div(plan.queries, 64);
  std::erase_if(values_of(fields, "split_keys"), [&](int64_t parts) {
    return parts > 1 && tiles * (parts / 2) >= 2 * target.compute_units;
  });
  if (!AttentionTileList::is_possible(plan)) leave_out(fields, "lists");
  return {
      std::make_shared<const Attention>(std::move(plan), target), std::move(fields), {}, kRules};
}

class Sm90Attention : public AttentionCandidate<Attention> {
 public:
  using AttentionCandidate::AttentionCandidate;

  // Keys and values are copied, and queries are computed by the workgroups that have them.
  bool computes_operands_once() const override { return true; }

 private:
  // The constants are fitted to 120 configs on an H200, of depths of 64 to 256 and 128 to 16384
  // keys; the root mean square of the error is 6 %. Those of chains, from a tile's products to the
  // next one's, are of 12 heads of 32 to 512 keys, where an SM has one workgroup.
  ShapeModel model_of(const AttentionPlan& plan) const override {
    struct Walk {
      double whole = 0, longest = 0;  // tiles of keys of one batch
    };
    std::map<std::pair<int64_t, int64_t>, Walk> walks;
    for (const int64_t groups : rules().listed("groups"))
      for (const int64_t block_k : rules().listed("block_k")) {
        AttentionSm90 a;
        a.groups = groups;
        Walk walk;
        for (const int64_t length : lengths_of_walks(plan, sm90::block_q(a), block_k)) {
          walk.whole += static_cast<double>(length);
          walk.longest = std::max(walk.longest, static_cast<double>(length));
        }
        walks[{groups, block_k}] = walk;
      }
    const double slots = score_slots(plan);
    const bool computes = !plan.q.is_copied();
    const double slots_q = computes ? operand_slots(plan.q) : 0;
    return [=, rules = rules(), bytes = region_bytes(region())](AttentionSm90 a) {
      set_sizes(a, plan);
      const Target& target = rules.of().target;
      constexpr double kRate = 2048;                     // multiply-adds of an SM in a cycle,
      constexpr double kExponentials = 16;               // exponentials,
      constexpr double kSlots = 128;                     // instructions of single threads,
      constexpr double kCached = 42;                     // and bytes that it reads from the cache
      constexpr double kExposed[] = {2.27, 1.06, 0.85};  // of weighing, beside products, by groups
      constexpr double kStep = 60;                       // cycles of a tile of keys, besides,
      constexpr double kChain = 520, kChained = 6.5;     // at least these, and for each key these
      constexpr double kTile = 877;  // cycles that begin and end a tile of queries
      // Waits for the next tile's queries, and for keys where fewer than kAhead are on their way.
      constexpr double kOneQuery = 400, kFewAhead = 600, kAhead = 160;
      constexpr double kOutside = 3000;  // and a launch
      // And computed queries: until their operands have come, and beside the arithmetic of one.
      constexpr double kOperands = 1500, kStored = 4;
      constexpr double kUnturned = 1.0005;  // as long, without turns
      constexpr double kOverlap = 1.45;     // how products and memory's traffic add up
      constexpr double kLaunch = 2e-6, kClock = 1.18, kBandwidth = 1.13;
      const auto number = [](int64_t value) { return static_cast<double>(value); };
      const Walk& walk = walks.at({a.groups, a.block_k});
      const double scores = number(sm90::block_q(a) * a.block_k);
      const double depths = number(round_up(a.depth, 16) + sm90::columns_v(a));
      const double weighing =
          kExposed[a.groups - 1] * (scores / kExponentials + scores * slots / kSlots);
      const double loaded =
          number(a.block_k * sm90::kLineBytes * (sm90::panels(a) + sm90::panels_v(a))) / kCached;
      const double rescaled = number(sm90::block_q(a) * sm90::columns_v(a)) / kSlots;
      double step =
          scores * depths / kRate + weighing + rescaled + kStep + (a.stages == 1 ? loaded : 0);
      step = std::max({step, loaded, kChain + kChained * number(a.block_k)}) *
             (a.turns || a.groups == 1 ? 1 : kUnturned);
      const double waits = (a.query_stages == 1 ? kOneQuery : 0) +
                           (number(a.stages * a.block_k) < kAhead ? kFewAhead : 0);
      const double begun =
          kTile + waits +
          (computes ? kOperands + number(sm90::block_q(a) * a.depth) * (slots_q + kStored) / kSlots
                    : 0);
      const double tiles = number(sm90::tiles(a)), units = target.compute_units;
      // Where all are as long, the units work in rounds. Else short ones fill what long ones leave.
      const bool equal = walk.longest * number(sm90::query_tiles(a)) == walk.whole;
      const double mean = walk.whole / number(sm90::query_tiles(a) * a.parts),
                   longest = walk.longest / number(a.parts);
      const double cycles =
          equal ? std::ceil(tiles / units) * (mean * step + begun)
                : std::max(tiles / units * (mean * step + begun), longest * step + begun);
      const double clock = target.clock() * kClock;
      const double working = std::pow(cycles / clock, kOverlap) +
                             std::pow(bytes / (target.bandwidth * kBandwidth), kOverlap);
      const double seconds = kLaunch + kOutside / clock + std::pow(working, 1 / kOverlap);
      return a.parts == 1 ? seconds
                          : seconds + AttentionKeyParts::combining_seconds(plan, a.parts, target);
    };
  }

  KernelSequence lower(const Config& config) const override {
    const AttentionPlan& plan = this->plan();
    AttentionSm90 a = rules().shape(config);
    set_rounds(a, plan,
               {.scores = a.block_k / 2,
                .pairs = a.block_k / 16,
                .scored = plan.seen ? 4 : 2,
                .weighed = 2,
                .most = 2400});
    // Those of tanh are two ways, of which the one of small products is short.
    if (a.small_bits != 0) a.score_rounds = 1;
    const SymInt tiles =
        plan.all_batches() * ir::ceildiv(plan.all_queries, sm90::block_q(a)) * a.parts;
    const SymInt workgroups = ir::min(target().concurrent_clusters(1), tiles);
    const AttentionPlan longest = plan.at_longest();
    set_sizes(a, longest);
    a.workgroups = std::min<int64_t>(target().concurrent_clusters(1), sm90::tiles(a));
    const TileOrder order = order_of_tiles(longest, sm90::block_q(a), a.block_k, a.batches,
                                           a.workgroups, Turns::forth_and_back);
    a.orders = order.by_length;
    a.heads = order.heads;

    Kernel kernel = start_kernel(region());
    kernel.source = "attention_sm90";
    kernel.workgroup = static_cast<int>(sm90::threads(a));
    kernel.resident = 1;
    kernel.grid = workgroups;
    kernel.shared_bytes = sm90::shared_bytes(a);
    kernel.flops = plan.flops();
    kernel.flop_rate = target().flops_matrix;
    leave_sizes_open(a, kernel, plan);
    // A narrow range may leave one number of tiles: the source has no other way to it.
    if (!plan.all_batches().is_const() || !plan.all_queries.is_const()) {
      a.workgroups = 0;
      kernel.counts.push_back({"TILES", tiles});
      kernel.counts.push_back({"WORKGROUPS", workgroups});
    }
    kernel.parameters = parameters_of(a, "AttentionSm90", "common/attention_sm90_shape.h");
    // The preprocessor makes the instructions' texts of them.
    kernel.defines.push_back({"WGMMA_KEYS", std::to_string(a.block_k)});
    kernel.defines.push_back({"WGMMA_VALUES", std::to_string(sm90::columns_v(a))});

    loosen_scores(kernel, plan, "tcc_cuda_tanh_f32");

    AttentionTile tile;
    tile.block_q = sm90::block_q(a);
    tile.block_k = a.block_k;
    tile.depth = round_up(plan.q.depths, sm90::kPanel);
    tile.depth_v = round_up(plan.v.depths, 4 * kSegment);
    tile.keys = 2;
    tile.segment = kSegment;
    tile.holds = true;
    const AttentionHooks hooks(plan, tile);
    const std::pair<const AttentionPlan::Operand*, const char*> operands[] = {
        {&plan.q, "q"}, {&plan.k, "k"}, {&plan.v, "v"}};
    for (const auto& [operand, name] : operands) {
      if (!operand->is_copied()) {
        kernel.hooks.push_back(hooks.load(*operand, str("load_", name)));
        continue;
      }
      need_alignment(kernel, *operand->view, kAddress);
      kernel.maps.push_back(
          tensor_map(*operand, str("map_", name), operand == &plan.q ? 64 : a.block_k));
      if (!operand->view->batch.empty())
        kernel.hooks.push_back(hooks.coordinates(*operand, str("batch_", name)));
    }
    add_key_hooks(kernel, plan, hooks, a.weights);
    return with_list(storing_results(std::move(kernel), region(), plan, tile, a.parts), tile,
                     a.lists);
  }

  // Boxes of 64 elements of so many rows.
  static TensorMap tensor_map(const AttentionPlan::Operand& operand, std::string name,
                              int64_t rows) {
    return tiled_map(
        *operand.view, std::move(name),
        {{{operand.depths, 1, sm90::kPanel}, {operand.rows, operand.view->free_stride, rows}}});
  }
};

class AttentionSm90Template : public Template {
 public:
  std::string_view name() const override { return "attention_sm90"; }
  int version() const override { return 1; }
  int specificity() const override { return 2; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  std::string_view unit() const override { return "wgmma"; }
  // Batches, queries and keys may be open; depths are numbers.
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    if (!target.has_matrix_unit(unit())) return Refusal{"the target has no wgmma", true};
    OrRefusal<AttentionPlan> plan = plan_matrix_attention(region);
    if (!plan) return plan.refusal();
    if (!has_device_source(target, "attention_sm90")) return lacks_source(target, "attention_sm90");
    for (const auto& [operand, name] : named_operands(*plan)) {
      // Threads compute queries that are vectors of neighbours along the depth.
      if (operand == &plan->q && !operand->is_copied() && operand->vector > 1) continue;
      if (!operand->view) return Refusal{str(name, " are computed, and no elements in memory")};
      if (!operand->is_copied())
        return Refusal{str("rows of ", name, " are no whole vectors of 16 bytes in memory")};
      if (operand->view->batch.size() > 3)
        return Refusal{str(name, " of more than three batch dims")};
    }
    if (target.has_matrix_unit("mma") &&
        plan->queries <= (plan->sharing() > 1 ? kFewShared : kFewQueries))
      return Refusal{str(plan->queries, " queries, too few for 64 rows")};
    AttentionRules rules = rules_of(*std::move(plan), target);
    if (!rules.has_legal())
      return Refusal{str("no workgroup of ", target.id(), " has room for its tiles")};
    return std::make_shared<const Sm90Attention>(*this, region, target, std::move(rules));
  }
};

const RegisterTemplate<AttentionSm90Template> registered;

}  // namespace
}  // namespace tcc::sched::template_attention_sm90
