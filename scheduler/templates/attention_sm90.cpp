// Attention on the matrix units of sm_90a (wgmma, TMA): the loops are
// backends/device/cuda/attention_sm90.cu; regions add what attention_hooks.h says.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "backends/device/common/attention_sm90_shape.h"
#include "scheduler/cost.h"
#include "scheduler/templates/attention_matrix.h"
#include "scheduler/templates/attention_parts.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/templates/matrix_operand.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using kernels::AttentionSm90;
namespace sm90 = kernels::attention_sm90;

// A warpgroup multiplies 64 rows, a warp 16: kernels of mma take up to 16 queries, and up to 32 of
// heads that share keys.
constexpr int64_t kFewQueries = 16, kFewShared = 32;
constexpr int64_t kSegment = 8;   // neighbours of a row that the epilogue gets
constexpr int64_t kAddress = 16;  // bytes: tensor maps begin at multiples

AttentionSm90 parameters_of_config(const AttentionPlan& plan, const Config& c) {
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
  a.groups = c["groups"];
  a.block_k = c["block_k"];
  a.stages = c["stages"];
  a.query_stages = c["query_stages"];
  a.turns = c["turns"] != 0;
  a.parts = c["split_keys"];
  return a;
}

// The tiles of keys that each tile of queries walks over, of the first batch.
std::vector<int64_t> lengths_of(const AttentionPlan& plan, const AttentionSm90& a) {
  const int64_t block_q = sm90::block_q(a);
  std::vector<int64_t> lengths;
  for (int64_t tile = 0; tile < sm90::query_tiles(a); ++tile) {
    const int64_t first = tile * block_q, last = std::min(plan.queries, first + block_q) - 1;
    lengths.push_back(plan.key_tiles(0, first, last, a.block_k));
  }
  return lengths;
}

bool are_equal(const std::vector<int64_t>& lengths) {
  return std::ranges::adjacent_find(lengths, std::not_equal_to<>()) == lengths.end();
}

// Tiles that cost a workgroup as much time as what begins and ends a tile.
constexpr double kBetween = 1.5;

// The longest that one of the workgroups walks, in tiles of keys, where batches are walked `heads`
// at a time as the device source does.
double longest_walk(const AttentionSm90& a, const std::vector<int64_t>& lengths, int64_t heads) {
  std::vector<double> walked(static_cast<size_t>(a.workgroups));
  int64_t n = 0;
  const auto count = static_cast<int64_t>(lengths.size());
  for (int64_t first = 0; first < a.batches; first += heads) {
    const int64_t together = std::min<int64_t>(heads, a.batches - first);
    for (int64_t i = 0; i < count * together; ++i, ++n) {
      const int64_t round = n / a.workgroups, place = n % a.workgroups;
      const int64_t group = round % 2 ? a.workgroups - 1 - place : place;
      walked[static_cast<size_t>(group)] +=
          static_cast<double>(lengths[static_cast<size_t>(count - 1 - i / together)]) + kBetween;
    }
  }
  return *std::ranges::max_element(walked);
}

// How many batches are walked together: where tiles of queries differ in length, the number that
// shares the work best. Fewer keep their keys and values in the cache.
int64_t walked_together(const AttentionSm90& a, const std::vector<int64_t>& lengths) {
  constexpr double kWorth = 0.99;
  // Long sequences of batches repeat themselves.
  constexpr int64_t kMost = 1024;
  AttentionSm90 part = a;
  part.batches = std::min<int64_t>(a.batches, kMost);
  int64_t best = 1;
  double best_walk = HUGE_VAL;
  for (int64_t heads = 1; heads <= part.batches; heads = heads < 16 ? heads + 1 : heads * 5 / 4) {
    const double walk = longest_walk(part, lengths, heads);
    if (walk >= best_walk * kWorth) continue;
    best = heads;
    best_walk = walk;
  }
  return best;
}

class Sm90Attention : public Candidate {
 public:
  Sm90Attention(const Template& by, const Region& region, const Target& target, AttentionPlan plan)
      : Candidate(by, region, target), plan_(std::move(plan)) {}

  std::vector<LayoutWish> order_wishes() const override { return wishes_of_rows(region(), plan_); }
  // Keys and values are copied, and queries are computed by the workgroups that have them.
  bool computes_operands_once() const override { return true; }

 private:
  ConfigSpace make_space() const override {
    ConfigSpace space;
    space.parameters = {
        {"groups", {1, 2, 3}, "warpgroups that multiply, 64 queries each"},
        {"block_k", {16, 32, 64, 80, 96, 112, 128, 160, 176, 192, 208, 224}, "keys of a tile"},
        {"stages", {1, 2, 3, 4}, "tiles of keys, and of values, in shared memory"},
        {"query_stages", {1, 2}, "tiles of queries in shared memory"},
        {"split_keys", splits(), "workgroups that share the keys of a query"},
        {"turns", {0, 1}, "whether groups take turns: one weighs while the others multiply"},
    };
    space.constraints = {
        {"accumulators fit into registers",
         [plan = plan_](const Config& c) {
           return sm90::fits_registers(parameters_of_config(plan, c));
         }},
        {"the tiles fit into shared memory",
         [plan = plan_, bytes = target().shared_bytes](const Config& c) {
           return sm90::shared_bytes(parameters_of_config(plan, c)) <= bytes;
         }},
        {"keys are split into parts of two tiles or more",
         [keys = plan_.keys](const Config& c) {
           return c["split_keys"] == 1 || c["split_keys"] * 2 * c["block_k"] <= keys;
         }},
        {"queries that are computed have one stage",
         [computes = !plan_.q.is_copied()](const Config& c) {
           return !computes || c["query_stages"] == 1;
         }},
        {"one group has no turns",
         [](const Config& c) { return c["groups"] > 1 || c["turns"] == 0; }},
    };
    return space;
  }

  // Keys are split where tiles of queries leave units idle.
  std::vector<int64_t> splits() const {
    std::vector<int64_t> splits = {1};
    const int64_t tiles = plan_.batches() * ceil_div(plan_.queries, 64);
    while (splits.back() < 64 && tiles * splits.back() < 2 * target().compute_units)
      splits.push_back(splits.back() * 2);
    return splits;
  }

  // The fastest by the cost model, which is quick.
  Config make_default_config() const override {
    const CostModel& cost = cost_model();
    Config best;
    double best_seconds = 0;
    own_space().enumerate([&](const Config& config) {
      const double seconds = cost(config);
      if (best.values().empty() || seconds < best_seconds) {
        best = config;
        best_seconds = seconds;
      }
      return true;
    });
    TCC_CHECK(!best.values().empty(), "no legal attention config on ", target().id());
    return best;
  }

  // The constants are fitted to 120 configs on an H200, of depths of 64 to 256 and 128 to 16384
  // keys; the root mean square of the error is 6 %.
  CostModel make_cost_model() const override {
    struct Walk {
      double whole = 0, longest = 0;  // tiles of keys of one batch
    };
    std::map<std::pair<int64_t, int64_t>, Walk> walks;
    for (const int64_t groups : own_space().parameters[0].values)
      for (const int64_t block_k : own_space().parameters[1].values) {
        AttentionSm90 a;
        a.queries = plan_.queries;
        a.groups = groups;
        a.block_k = block_k;
        Walk walk;
        for (const int64_t length : lengths_of(plan_, a)) {
          walk.whole += static_cast<double>(length);
          walk.longest = std::max(walk.longest, static_cast<double>(length));
        }
        walks[{groups, block_k}] = walk;
      }
    const double slots = score_slots(plan_);
    const bool computes = !plan_.q.is_copied();
    const double slots_q =
        computes ? element_work(std::vector{plan_.q.element}, plan_.q.depth).slots : 0;
    return [=, plan = plan_, target = target(), bytes = region_bytes(region())](const Config& c) {
      constexpr double kRate = 2048;                     // multiply-adds of an SM in a cycle,
      constexpr double kExponentials = 16;               // exponentials,
      constexpr double kSlots = 128;                     // instructions of single threads,
      constexpr double kCached = 42;                     // and bytes that it reads from the cache
      constexpr double kExposed[] = {2.27, 1.06, 0.85};  // of weighing, beside products, by groups
      constexpr double kStep = 60;                       // cycles of a tile of keys, besides
      constexpr double kTile = 877;      // cycles that begin and end a tile of queries
      constexpr double kOutside = 3000;  // and a launch
      // And computed queries: until their operands have come, and beside the arithmetic of one.
      constexpr double kOperands = 1500, kStored = 4;
      constexpr double kUnturned = 1.0005;  // as long, without turns
      constexpr double kOverlap = 1.45;     // how products and memory's traffic add up
      constexpr double kLaunch = 2e-6, kClock = 1.18, kBandwidth = 1.13;
      const AttentionSm90 a = parameters_of_config(plan, c);
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
      step = std::max(step, loaded) * (a.turns || a.groups == 1 ? 1 : kUnturned);
      const double begun = kTile + (computes ? kOperands + number(sm90::block_q(a) * a.depth) *
                                                               (slots_q + kStored) / kSlots
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
    const AttentionPlan& plan = plan_;
    AttentionSm90 a = parameters_of_config(plan, config);
    a.workgroups = std::min<int64_t>(target().concurrent_clusters(1), sm90::tiles(a));
    const std::vector<int64_t> lengths = lengths_of(plan, a);
    a.orders = !are_equal(lengths);
    a.heads = a.orders ? walked_together(a, lengths) : 1;

    Kernel kernel = start_kernel(region());
    kernel.source = "attention_sm90";
    kernel.workgroup = static_cast<int>(sm90::threads(a));
    kernel.resident = 1;
    kernel.grid = a.workgroups;
    kernel.shared_bytes = sm90::shared_bytes(a);
    kernel.flops = plan.flops() * plan.share_of_tiles(1, 1);
    kernel.flop_rate = target().flops_matrix;
    kernel.parameters = parameters_of(a, "AttentionSm90", "common/attention_sm90_shape.h");
    // The preprocessor makes the instructions' texts of them.
    kernel.defines.push_back({"WGMMA_KEYS", std::to_string(a.block_k)});
    kernel.defines.push_back({"WGMMA_VALUES", std::to_string(sm90::columns_v(a))});

    loosen_scores(kernel, plan);

    AttentionTile tile;
    tile.block_q = sm90::block_q(a);
    tile.block_k = a.block_k;
    tile.depth = round_up(plan.q.depths, sm90::kPanel);
    tile.depth_v = round_up(plan.v.depths, 4 * kSegment);
    tile.keys = 2;
    tile.segment = kSegment;
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
    add_key_hooks(kernel, plan, hooks);
    return storing_results(std::move(kernel), region(), plan, tile, a.parts);
  }

  // Boxes of 64 elements of so many rows.
  static TensorMap tensor_map(const AttentionPlan::Operand& operand, std::string name,
                              int64_t rows) {
    return tiled_map(
        *operand.view, std::move(name),
        {{{operand.depths, 1, sm90::kPanel}, {operand.rows, operand.view->free_stride, rows}}});
  }

  AttentionPlan plan_;
};

class AttentionSm90Template : public Template {
 public:
  std::string_view name() const override { return "attention_sm90"; }
  int version() const override { return 1; }
  int specificity() const override { return 2; }

  Match match(const Region& region, const Target& target) const override {
    if (!target.has_matrix_unit("wgmma")) return Refusal{"the target has no wgmma", true};
    OrRefusal<AttentionPlan> plan = plan_matrix_attention(region);
    if (!plan) return plan.refusal();
    for (const auto& [operand, name] : named_operands(*plan)) {
      // Threads compute queries that are vectors of neighbours along the depth.
      if (operand == &plan->q && !operand->is_copied() && operand->vector > 1) continue;
      if (!operand->is_copied())
        return Refusal{str(name, " are computed, or no rows of whole 16 bytes")};
      if (operand->view->batch.size() > 3)
        return Refusal{str(name, " of more than three batch dims")};
    }
    if (target.has_matrix_unit("mma") &&
        plan->queries <= (plan->sharing() > 1 ? kFewShared : kFewQueries))
      return Refusal{str(plan->queries, " queries, too few for 64 rows")};
    return std::make_shared<const Sm90Attention>(*this, region, target, *std::move(plan));
  }
};

const RegisterTemplate<AttentionSm90Template> registered;

}  // namespace
}  // namespace tcc::sched
