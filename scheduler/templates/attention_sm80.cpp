// Attention on the matrix units of sm_80 and later (mma.sync, cp.async): the loops are
// backends/device/cuda/attention_sm80.cu; regions add what attention_hooks.h says.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "backends/device/common/attention_sm80_shape.h"
#include "scheduler/cost.h"
#include "scheduler/templates/attention_matrix.h"
#include "scheduler/templates/attention_parts.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using kernels::AttentionSm80;
namespace sm80 = kernels::attention_sm80;

constexpr int64_t kSegment = 8;  // neighbours of a row that the epilogue gets

kernels::AttentionOperand described(const AttentionPlan::Operand& operand) {
  kernels::AttentionOperand made;
  made.vector = operand.vector;
  made.load = kernels::Load::computed;
  if (operand.rows_apart && operand.rows_apart->alignment >= 4) {
    made.load = kernels::Load::tiles;
    made.vector = operand.rows_apart->alignment / size_bytes(operand.dtype);
    made.buffer = operand.rows_apart->buffer;
    made.apart = true;
  }
  if (!operand.view) return made;
  made.along_rows = !operand.view->k_stride.is(1) && operand.view->free_stride.is(1);
  if (!operand.view->k_stride.is(1)) return made;
  const int64_t alignment = operand.view->alignment(operand.view->free_stride);
  made.load = alignment >= 4 ? kernels::Load::tiles : kernels::Load::rows;
  made.vector = alignment / size_bytes(operand.view->dtype);
  made.buffer = operand.view->buffer;
  made.stride = operand.view->free_stride.value();
  return made;
}

// All configs of a plan have these in common.
AttentionSm80 parameters_of_plan(const AttentionPlan& plan) {
  AttentionSm80 a;
  set_plan(a, plan);
  a.q = described(plan.q);
  a.k = described(plan.k);
  a.v = described(plan.v);
  return a;
}

// A plan's kernel, and what each of its configs asks of it.
struct Attention {
  Attention(AttentionPlan of, const Target& on)
      : plan(std::move(of)),
        target(on),
        common(parameters_of_plan(plan)),
        sharing(plan.sharing()) {}

  AttentionSm80 parameters(int64_t block_q, int64_t block_k, int64_t warps_q, int64_t warps_k,
                           int64_t stages, int64_t parts) const {
    AttentionSm80 a = common;
    a.block_q = block_q;
    a.block_k = block_k;
    a.warps_q = warps_q;
    a.warps_k = warps_k;
    a.stages = stages;
    a.parts = parts;
    a.pack = packed_batches(sharing, a.queries, block_q);
    return a;
  }
  AttentionSm80 parameters(const Config& c) const {
    return parameters(c["block_q"], c["block_k"], c["warps_q"], c["warps_k"], c["stages"],
                      c["split_keys"]);
  }

  // Workgroups that share a unit.
  int64_t resident(const AttentionSm80& a) const {
    const int64_t by_memory = (target.shared_bytes + 1024) / (sm80::shared_bytes(a) + 1024),
                  by_registers = target.registers_per_unit /
                                 (sm80::threads(a) * round_up(sm80::registers(a), 8)),
                  by_threads = target.max_threads_per_unit / sm80::threads(a);
    return std::clamp<int64_t>(std::min({by_memory, by_registers, by_threads}), 1, 8);
  }

  AttentionPlan plan;
  Target target;
  AttentionSm80 common;
  int64_t sharing;
};

struct AttentionRule {
  const char* reason;
  bool (*holds)(const AttentionSm80&, const Attention&);
};

// Later ones rely on those before.
constexpr AttentionRule kRules[] = {
    {"4 or 8 warps have 16 or 32 rows and multiples of 16 keys, and share rows or keys",
     [](const auto& a, const auto&) { return sm80::legal_warps(a); }},
    {"accumulators and fragments fit into registers",
     [](const auto& a, const auto&) { return sm80::fits_registers(a); }},
    {"the tiles fit into shared memory",
     [](const auto& a, const Attention& of) {
       return sm80::shared_bytes(a) <= of.target.shared_bytes;
     }},
    {"keys are split into parts of two tiles or more, where queries leave units idle",
     [](const auto& a, const Attention& of) {
       return a.parts == 1 || (a.parts * 2 * a.block_k <= a.keys &&
                               sm80::workgroups(a) <= 8 * of.target.compute_units);
     }},
};

const std::vector<Parameter>& attention_parameters() {
  static const std::vector<Parameter> parameters = {
      {"block_q", {16, 32, 64, 128, 256}, "rows of a workgroup"},
      {"block_k", {32, 48, 64, 96, 128}, "keys of a tile"},
      {"warps_q", {1, 2, 4, 8}, "warps that share the rows"},
      {"warps_k", {1, 2, 4, 8}, "warps that share the keys of a tile"},
      {"stages", {1, 2, 3, 4}, "tiles of keys, and of values, in shared memory"},
      {"split_keys", {1, 2, 4, 8, 16, 32, 64}, "workgroups that share the keys of a query"},
  };
  return parameters;
}

// Calls `visit` with every legal config's parameters, without the detour through configs.
void each_legal(const Attention& of, const std::function<void(const AttentionSm80&)>& visit) {
  const auto& values = attention_parameters();
  for (const int64_t block_q : values[0].values)
    for (const int64_t block_k : values[1].values)
      for (const int64_t warps_q : values[2].values)
        for (const int64_t warps_k : values[3].values)
          for (const int64_t stages : values[4].values)
            for (const int64_t parts : values[5].values) {
              const AttentionSm80 a =
                  of.parameters(block_q, block_k, warps_q, warps_k, stages, parts);
              if (std::ranges::all_of(kRules, [&](const auto& rule) { return rule.holds(a, of); }))
                visit(a);
            }
}

class Sm80Attention : public Candidate {
 public:
  Sm80Attention(const Template& by, const Region& region, const Target& target,
                std::shared_ptr<const Attention> attention)
      : Candidate(by, region, target), attention_(std::move(attention)) {}

  std::vector<LayoutWish> order_wishes() const override {
    return wishes_of_rows(region(), attention_->plan);
  }

 private:
  ConfigSpace make_space() const override {
    ConfigSpace space;
    space.parameters = attention_parameters();
    for (const AttentionRule& rule : kRules)
      space.constraints.push_back({rule.reason, [&rule, of = attention_](const Config& c) {
                                     return rule.holds(of->parameters(c), *of);
                                   }});
    return space;
  }

  // The fastest by the cost model, which is quick.
  Config make_default_config() const override {
    const auto seconds_of = model();
    std::optional<AttentionSm80> best;
    double best_seconds = 0;
    each_legal(*attention_, [&](const AttentionSm80& a) {
      const double seconds = seconds_of(a);
      if (best && seconds >= best_seconds) return;
      best = a;
      best_seconds = seconds;
    });
    TCC_CHECK(best, "no legal attention config on ", target().id());
    return {{"block_q", best->block_q}, {"block_k", best->block_k}, {"warps_q", best->warps_q},
            {"warps_k", best->warps_k}, {"stages", best->stages},   {"split_keys", best->parts}};
  }

  CostModel make_cost_model() const override {
    return [seconds_of = model(), of = attention_](const Config& c) {
      return seconds_of(of->parameters(c));
    };
  }

  // The constants are fitted to 28 configs on an H200, of depths of 64 to 256 and 4096 keys; the
  // root mean square of the error is 6 %.
  std::function<double(const AttentionSm80&)> model() const {
    std::map<std::pair<int64_t, int64_t>, KeyWalk> walks;
    for (const int64_t block_q : attention_parameters()[0].values)
      for (const int64_t block_k : attention_parameters()[1].values)
        walks[{block_q, block_k}] = walk_over_keys(attention_->plan, block_q, block_k);
    const double slots = score_slots(attention_->plan);
    return [=, of = attention_, bytes = region_bytes(region())](const AttentionSm80& a) {
      const Target& target = of->target;
      constexpr double kLaunch = 2e-6, kBandwidth = 1.1;
      constexpr double kMostProducts = 1270;  // multiply-adds of mma.sync, whatever wgmma may reach
      constexpr double kExponentials = 16, kSlots = 128, kShared = 128, kCached = 42;
      constexpr double kLatency = 1400;  // cycles until a tile of keys is there
      // Those that begin and end a tile of queries, and for each element of each warp; the share
      // that other workgroups of the unit do not hide; how much longer one takes that waits alone.
      constexpr double kTile = 2800, kElement = 0.14, kShown = 0.75, kAlone = 1.03;
      // How products, reads of fragments and weighing add up on a busy unit, and how much longer
      // they take by few warps.
      constexpr double kProducts = 0.75, kFragments = 0.6, kWeighing = 0.8, kFewWarps = 0.4;
      constexpr double kWarps = 8;
      const auto number = [](int64_t value) { return static_cast<double>(value); };
      const double clock = target.clock(), units = target.compute_units;
      const double rate = std::min(target.flops_matrix / 2 / units / clock, kMostProducts);
      const KeyWalk& walk = walks.at({a.block_q, a.block_k});
      const double scores = number(a.block_q * a.block_k);
      const double columns = number(sm80::columns(a) + sm80::columns_v(a));
      // Keys and values are read for the rows of each warp, queries for its keys.
      const double fragments =
          2 * (number(a.warps_q * a.block_k) * columns +
               (sm80::keeps_queries(a) ? 0 : number(a.warps_k * a.block_q * sm80::columns(a))));
      const double weighing = scores / kExponentials + scores * slots / kSlots;
      const double beside = number(a.block_q * sm80::columns_v(a)) / kSlots;
      const double loaded = number(sm80::k_bytes(a) + sm80::v_bytes(a)) / kCached;
      const double workgroups = number(sm80::workgroups(a));
      const double busy = std::min(number(of->resident(a)), std::ceil(workgroups / units));
      const double warps = busy * number(a.warps_q * a.warps_k);
      const double few = 1 + kFewWarps * std::max(0.0, kWarps / warps - 1);
      const double working =
          few * (kProducts * scores * columns / rate + kFragments * fragments / kShared +
                 kWeighing * weighing + beside);
      // With one stage, half of a tile is loaded while the other is used.
      const double ahead = a.stages == 1 ? 0.5 : number(a.stages - 1);
      const double step =
          std::max(std::max(working, loaded) * (busy > 1 ? busy : kAlone), kLatency / ahead);
      const double elements = busy * number(a.block_q * a.warps_k) * columns;
      const double begun = (kTile + kElement * elements) * (busy > 1 ? kShown : 1);
      const double tiles = walk.mean / number(a.parts), longest = walk.longest / number(a.parts);
      const double rounds = std::max(1.0, workgroups / (units * busy));
      const double cycles = walk.longest == walk.mean
                                ? std::ceil(rounds) * (tiles * step + begun)
                                : std::max(rounds * (tiles * step + begun), longest * step + begun);
      const double computing = cycles / clock, moving = bytes / (target.bandwidth * kBandwidth);
      double seconds = kLaunch + std::max(computing, moving) + 0.3 * std::min(computing, moving);
      if (a.parts > 1) seconds += AttentionKeyParts::combining_seconds(of->plan, a.parts, target);
      return seconds;
    };
  }

  KernelSequence lower(const Config& config) const override {
    const AttentionPlan& plan = attention_->plan;
    AttentionSm80 a = attention_->parameters(config);
    const int64_t resident = attention_->resident(a);
    const TileOrder order = order_of_tiles(plan, a.block_q, a.block_k, sm80::packs(a),
                                           target().compute_units * resident);
    a.orders = order.by_length;
    a.heads = order.heads;

    Kernel kernel = start_kernel(region());
    kernel.source = "attention_sm80";
    kernel.workgroup = static_cast<int>(sm80::threads(a));
    kernel.resident = static_cast<int>(resident);
    kernel.grid = sm80::workgroups(a);
    kernel.shared_bytes = sm80::shared_bytes(a);
    kernel.flops = plan.flops() * plan.share_of_tiles(1, 1);
    kernel.flop_rate = target().flops_matrix;
    kernel.parameters = parameters_of(a, "AttentionSm80", "common/attention_sm80_shape.h");

    loosen_scores(kernel, plan);

    AttentionTile tile;
    tile.block_q = a.block_q;
    tile.block_k = a.block_k;
    tile.depth = sm80::columns(a);
    tile.depth_v = round_up(sm80::columns_v(a), 4 * kSegment);
    tile.keys = 2;
    tile.segment = kSegment;
    const AttentionHooks hooks(plan, tile);
    const std::tuple<const AttentionPlan::Operand*, const kernels::AttentionOperand*, const char*>
        operands[] = {{&plan.q, &a.q, "q"}, {&plan.k, &a.k, "k"}, {&plan.v, &a.v, "v"}};
    for (const auto& [operand, described, name] : operands) {
      if (described->load == kernels::Load::computed) {
        kernel.hooks.push_back(hooks.load(*operand, str("load_", name)));
        continue;
      }
      kernel.hooks.push_back(described->apart ? hooks.row(*operand, str("row_", name))
                                              : hooks.start(*operand, str("start_", name)));
      if (described->load != kernels::Load::tiles) continue;
      Argument& argument = kernel.arguments[static_cast<size_t>(described->buffer)];
      argument.needed =
          std::max<int64_t>(argument.needed, described->vector * size_bytes(operand->dtype));
    }
    add_key_hooks(kernel, plan, hooks);
    return storing_results(std::move(kernel), region(), plan, tile, a.parts);
  }

  const std::shared_ptr<const Attention> attention_;
};

class AttentionSm80Template : public Template {
 public:
  std::string_view name() const override { return "attention_sm80"; }
  int version() const override { return 1; }
  int specificity() const override { return 1; }

  Match match(const Region& region, const Target& target) const override {
    if (!target.has_matrix_unit("mma")) return Refusal{"the target has no mma", true};
    OrRefusal<AttentionPlan> plan = plan_matrix_attention(region);
    if (!plan) return plan.refusal();
    for (const auto& [operand, name] : named_operands(*plan))
      if (operand->view && operand->view->free_stride.value() > std::numeric_limits<int32_t>::max())
        return Refusal{str("rows of ", name, " are more than 2^31 elements apart")};
    auto attention = std::make_shared<const Attention>(*std::move(plan), target);
    bool is_legal = false;
    each_legal(*attention, [&](const AttentionSm80&) { is_legal = true; });
    if (!is_legal) return Refusal{str("no workgroup of ", target.id(), " has room for its tiles")};
    return std::make_shared<const Sm80Attention>(*this, region, target, std::move(attention));
  }
};

const RegisterTemplate<AttentionSm80Template> registered;

}  // namespace
}  // namespace tcc::sched
