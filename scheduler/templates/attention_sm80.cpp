// Attention on the matrix units of sm_80 and later (mma.sync, cp.async): the loops are
// backends/device/cuda/attention_sm80.cu; regions add what attention_hooks.h says.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "backends/device/common/attention_sm80_shape.h"
#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/templates/attention_candidate.h"
#include "scheduler/templates/attention_matrix.h"
#include "scheduler/templates/attention_parts.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/templates/rule_space.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_attention_sm80 {
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
    return made;
  }
  if (!operand.view) return made;
  made.along_rows = !operand.view->k_stride.is(1) && operand.view->free_stride.is(1);
  if (!operand.view->k_stride.is(1) || !operand.view->free_stride.is_const()) return made;
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
  using Values = AttentionSm80;
  using Shape = AttentionSm80;
  const AttentionSm80& values() const { return common; }
  AttentionSm80 shape(AttentionSm80 a) const {
    a.pack = packed_batches(plan, sharing, a.block_q);
    a.sent_rows =
        plan.all_queries.is_const() ? std::min(plan.queries * a.pack, a.block_q) : a.block_q;
    return a;
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
  AttentionSm80 common = parameters_of_plan(plan);
  int64_t sharing = plan.sharing();
  int64_t longest_keys = plan.at_longest().keys;
};

constexpr Rule<AttentionSm80, Attention> kValueRules[] = {
    {"4 or 8 warps have 16 or 32 rows and multiples of 16 keys, and share rows or keys",
     [](const auto& a, const auto&) { return sm80::legal_warps(a); }},
};
constexpr Rule<AttentionSm80, Attention> kRules[] = {
    {"accumulators and fragments fit into registers",
     [](const auto& a, const auto&) { return sm80::fits_registers(a); }},
    {"the tiles fit into shared memory",
     [](const auto& a, const Attention& of) {
       return sm80::shared_bytes(a) <= of.target.shared_bytes;
     }},
    {"keys are split into parts of two tiles or more, where queries leave units idle",
     [](const auto& a, const Attention& of) {
       return a.parts == 1 || (a.parts * 2 * a.block_k <= of.longest_keys &&
                               sm80::workgroups(a) <= 8 * of.target.compute_units);
     }},
    {"a list of tiles is about the queries of one batch",
     [](const auto& a, const auto&) { return !a.lists || a.pack == 1; }},
    {"a cluster has a tile of keys for each workgroup, and all workgroups run at once",
     [](const auto& a, const Attention& of) {
       return a.cluster == 1 || (a.parts == 1 && a.cluster * a.block_k <= of.longest_keys &&
                                 sm80::workgroups(a) <= of.resident(a) * of.target.compute_units);
     }},
};

using AttentionRules = RuleSpace<Attention>;

std::vector<Field<AttentionSm80>> all_fields() {
  using V = AttentionSm80;
  return {{"block_q", {16, 32, 64, 128, 256}, "rows of a workgroup", &V::block_q},
          {"block_k", {16, 32, 48, 64, 96, 128}, "keys of a tile", &V::block_k},
          {"warps_q", {1, 2, 4, 8}, "warps that share the rows", &V::warps_q},
          {"warps_k", {1, 2, 4, 8}, "warps that share the keys of a tile", &V::warps_k},
          {"stages", {1, 2, 3, 4}, "tiles of keys, and of values, in shared memory", &V::stages},
          {"split_keys",
           {1, 2, 4, 8, 16, 32, 64},
           "workgroups that share the keys of a query",
           &V::parts},
          {"cluster",
           {1, 2, 4, 8},
           "workgroups of a cluster that share the keys of a query",
           &V::cluster},
          field_of_lists<V>()};
}

AttentionRules rules_of(AttentionPlan plan, const Target& target) {
  std::vector<Field<AttentionSm80>> fields = all_fields();
  // Tiles of words have room for half as many keys: of the deepest ones, 16 on units with little
  // shared memory.
  if (element_of(plan.q.dtype) != kernels::Element::tf32)
    std::erase(values_of(fields, "block_k"), 16);
  if (target.max_cluster < 8) leave_out(fields, "cluster");
  if (!AttentionTileList::is_possible(plan)) leave_out(fields, "lists");
  return {std::make_shared<const Attention>(std::move(plan), target), std::move(fields),
          kValueRules, kRules};
}

// The work of threads for an operand that they compute, for estimates.
struct Computing {
  double slots = 0;  // issue slots of an element; 0: the operand is copied
  double vector = 1;

  static Computing of(const AttentionPlan::Operand& operand, const kernels::AttentionOperand& as) {
    constexpr double kStored = 12;  // conversions, addresses, and the store to shared memory
    if (as.load != kernels::Load::computed) return {};
    return {operand_slots(operand) + kStored, static_cast<double>(operand.vector)};
  }
  // The cycles in which a tile's elements are issued, and those of waits for what they load.
  double issued(double elements) const { return elements * slots / 128; }
  double waits(double elements, const AttentionSm80& a) const {
    constexpr double kWait = 700;
    const double together = a.block_q <= 16 ? 8 : 4;  // vectors of a thread on their way
    return slots == 0 ? 0
                      : kWait * std::ceil(elements / (static_cast<double>(sm80::threads(a)) *
                                                      together * vector));
  }
};

class Sm80Attention : public AttentionCandidate<Attention> {
 public:
  using AttentionCandidate::AttentionCandidate;

  // The estimates count computed operands for each tile of queries.
  bool computes_operands_once() const override { return true; }

 private:
  // The constants are fitted to 28 configs on an H200, of depths of 64 to 256 and 4096 keys; the
  // root mean square of the error is 6 %.
  ShapeModel model_of(const AttentionPlan& plan) const override {
    const KeyWalks walks =
        walks_over_keys(plan, rules().listed("block_q"), rules().listed("block_k"));
    const AttentionSm80& common = rules().of().common;
    return [=, rules = rules(), slots = score_slots(plan), bytes = region_bytes(region()),
            q = Computing::of(plan.q, common.q), k = Computing::of(plan.k, common.k),
            v = Computing::of(plan.v, common.v)](AttentionSm80 a) {
      set_sizes(a, plan);
      const Target& target = rules.of().target;
      // Multiply-adds of 16 bits by mma.sync, whatever wgmma may reach; half as many of words.
      constexpr double kMostProducts = 1270;
      constexpr double kExponentials = 16, kSlots = 128, kShared = 128, kCached = 42;
      constexpr double kLatency = 1400;  // cycles until a tile of keys is there,
      // and how much longer that takes where the launch behind already loads on units left idle.
      constexpr double kBeside = 3;
      // Those that begin and end a tile of queries, and for each element of each warp; the share
      // that other workgroups of the unit do not hide; how much longer one takes that waits alone.
      constexpr double kTile = 2800, kElement = 0.14, kShown = 0.75, kAlone = 1.03;
      // How products, reads of fragments and weighing add up on a busy unit, and how much longer
      // they take by few warps.
      constexpr double kProducts = 0.75, kFragments = 0.6, kWeighing = 0.8, kFewWarps = 0.4;
      constexpr double kWarps = 8;
      const auto number = [](int64_t value) { return static_cast<double>(value); };
      const double clock = target.clock(), units = target.compute_units;
      const double bytes_each = number(sm80::bytes(a));
      const double rate =
          std::min(target.flops_matrix / 2 / units / clock, kMostProducts) * 2 / bytes_each;
      const double scores = number(a.block_q * a.block_k);
      const double columns = number(sm80::columns(a) + sm80::columns_v(a));
      // Keys and values are read for the rows of each warp, queries for its keys.
      const double fragments =
          bytes_each *
          (number(a.warps_q * a.block_k) * columns +
           (sm80::keeps_queries(a) ? 0 : number(a.warps_k * a.block_q * sm80::columns(a))));
      const double weighing = scores / kExponentials + scores * slots / kSlots;
      // Each warp has sums of its own, which it corrects for new maxima.
      const double beside = number(a.block_q * a.warps_k * sm80::columns_v(a)) / kSlots;
      const double loaded = number(sm80::k_bytes(a) + sm80::v_bytes(a)) / kCached;
      const double workgroups = number(sm80::workgroups(a));
      const double busy = std::min(number(rules.of().resident(a)), std::ceil(workgroups / units));
      const double warps = busy * number(a.warps_q * a.warps_k);
      const double few = 1 + kFewWarps * std::max(0.0, kWarps / warps - 1);
      const double keys = number(a.block_k * sm80::columns(a)),
                   values = number(a.block_k * sm80::columns_v(a)),
                   queries = number(a.block_q * sm80::columns(a));
      const double working =
          few * (kProducts * scores * columns / rate + kFragments * fragments / kShared +
                 kWeighing * weighing + beside + k.issued(keys) + v.issued(values));
      const double waits = k.waits(keys, a) + v.waits(values, a);
      // With one stage, half of a tile is loaded while the other is used.
      const double ahead = a.stages == 1 ? 0.5 : number(a.stages - 1);
      const bool shares_units = target.overlapping_launches && 2 * workgroups <= units &&
                                bytes / target.bandwidth <= kLongLaunch;
      const double latency = kLatency * (shares_units ? kBeside : 1);
      const double step = std::max({std::max(working, loaded) * (busy > 1 ? busy : kAlone),
                                    latency / ahead, (working + waits) * kAlone});
      const double elements = busy * number(a.block_q * a.warps_k) * columns;
      const double computed = busy * q.issued(queries) + q.waits(queries, a);
      const double begun = (kTile + kElement * elements + computed) * (busy > 1 ? kShown : 1);
      return predicted_seconds({.walk = walks.at({a.block_q, a.block_k}),
                                .parts = a.parts,
                                .cluster = a.cluster,
                                .step = step,
                                .begun = begun,
                                .workgroups = workgroups,
                                .busy = busy,
                                .bytes = bytes},
                               plan, target);
    };
  }

  KernelSequence lower(const Config& config) const override {
    const AttentionPlan& plan = rules().of().plan;
    AttentionSm80 a = rules().shape(config);
    const int64_t resident = rules().of().resident(a);
    const TileOrder order = order_of_tiles(plan.at_longest(), a.block_q, a.block_k, sm80::packs(a),
                                           target().compute_units * resident, Turns::as_slots_end);
    a.orders = order.by_length;
    a.heads = order.heads;

    Kernel kernel = start_kernel(region());
    kernel.source = "attention_sm80";
    kernel.workgroup = static_cast<int>(sm80::threads(a));
    kernel.resident = static_cast<int>(resident);
    const SymInt tiles = ir::ceildiv(plan.all_queries * a.pack, a.block_q);
    kernel.cluster = static_cast<int>(a.cluster);
    kernel.grid = floordiv(plan.all_batches(), a.pack) * tiles * sm80::sharers(a);
    kernel.shared_bytes = sm80::shared_bytes(a);
    kernel.flops = plan.flops();
    kernel.flop_rate = target().flops_matrix * 2 / static_cast<double>(sm80::bytes(a));
    a.one_query_tile = tiles.is(1);
    a.one_key_tile = ir::ceildiv(plan.all_keys, a.block_k).is(1) && !plan.seen;
    leave_sizes_open(a, kernel, plan);
    const int64_t pairs = sm80::warp_k(a) / 16;
    set_rounds(a, plan,
               {.scores = sm80::warp_q(a) / 16 * pairs * 8,
                .pairs = pairs,
                .scored = 2,
                .weighed = 1,
                .most = 5000});
    kernel.parameters = parameters_of(a, "AttentionSm80", "common/attention_sm80_shape.h");

    loosen_scores(kernel, plan, "tcc_cuda_tanh_f32");

    AttentionTile tile;
    tile.block_q = a.block_q;
    tile.block_k = a.block_k;
    tile.depth = sm80::columns(a);
    tile.depth_v = round_up(sm80::columns_v(a), 4 * kSegment);
    tile.keys = 2;
    tile.segment = kSegment;
    const AttentionHooks hooks(plan, tile);
    add_operand_hooks(kernel, plan, hooks, a, &AttentionHooks::start, "start_");
    add_key_hooks(kernel, plan, hooks, a.weights);
    return with_list(storing_results(std::move(kernel), region(), plan, tile, a.parts), tile,
                     a.lists);
  }
};

class AttentionSm80Template : public Template {
 public:
  std::string_view name() const override { return "attention_sm80"; }
  int version() const override { return 1; }
  int specificity() const override { return 1; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  std::string_view unit() const override { return "mma"; }
  // Batches, queries and keys may be open; depths are numbers.
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    if (!target.has_matrix_unit(unit())) return Refusal{"the target has no mma", true};
    OrRefusal<AttentionPlan> plan =
        plan_matrix_attention(region, UnitElements::of_16_bits_and_tf32);
    if (!plan) return plan.refusal();
    const DType dtype = plan->q.dtype;
    if (!target.multiplies("mma", dtype, dtype, DType::f32))
      return Refusal{str("mma units do not multiply ", tcc::name(dtype))};
    if (!has_device_source(target, "attention_sm80")) return lacks_source(target, "attention_sm80");
    for (const auto& [operand, name] : named_operands(*plan))
      if (operand->view && operand->view->free_stride.is_const() &&
          operand->view->free_stride.value() > std::numeric_limits<int32_t>::max())
        return Refusal{str("rows of ", name, " are more than 2^31 elements apart")};
    AttentionRules rules = rules_of(*std::move(plan), target);
    if (!rules.has_legal())
      return Refusal{str("no workgroup of ", target.id(), " has room for its tiles")};
    return std::make_shared<const Sm80Attention>(*this, region, target, std::move(rules));
  }
};

const RegisterTemplate<AttentionSm80Template> registered;

}  // namespace
}  // namespace tcc::sched::template_attention_sm80
