// Attention on the cooperative matrices of Vulkan: the loops are
// backends/device/glsl/attention_coopmat.comp; regions add what attention_hooks.h says.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/device/common/attention_coopmat_shape.h"
#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/source_compiler.h"
#include "scheduler/templates/attention_candidate.h"
#include "scheduler/templates/attention_columns.h"
#include "scheduler/templates/attention_matrix.h"
#include "scheduler/templates/attention_parts.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/coopmat_plan.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/templates/rule_space.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_attention_coopmat {
namespace {

using exec::MatrixUnit;
using kernels::AttentionCoopmat;
namespace coopmat = kernels::attention_coopmat;

constexpr std::string_view kUnit = "coopmat";
constexpr int64_t kSegment = 8;  // neighbours of a row that the epilogue gets
constexpr int64_t kChunk = 16;   // bytes of a load
constexpr int64_t kMostChunks = int64_t{1} << 30;
constexpr const char* kConversions = "GL_NV_cooperative_matrix2";
constexpr int64_t kFragmentThreads = 32;
constexpr int64_t kMostAhead = 32;  // registers of words that are loaded before products

// Rows of whole chunks come as such, where 32 bits number these. The load hook brings all else.
kernels::AttentionOperand described(const Region& region, const Target& target,
                                    const AttentionPlan::Operand& operand) {
  kernels::AttentionOperand made;
  made.vector = operand.vector;
  made.load = kernels::Load::computed;
  const int64_t chunk = kChunk / size_bytes(operand.dtype);
  const bool apart = operand.rows_apart && operand.rows_apart->alignment == kChunk && target.int64;
  const bool copied = operand.is_copied() && operand.view->free_stride.is_const();
  if ((!copied && !apart) || operand.depths % chunk != 0) return made;
  const int buffer = apart ? operand.rows_apart->buffer : operand.view->buffer;
  const ir::Value* value = region.inputs[static_cast<size_t>(buffer)];
  const SymInt& elements = region.layout(value).elements;
  if (elements.is_const() && elements.value() / chunk >= kMostChunks) return made;
  made.load = kernels::Load::tiles;
  made.vector = chunk;
  made.buffer = buffer;
  made.apart = apart;
  made.stride = apart ? 0 : operand.view->free_stride.value();
  return made;
}

// The neighbouring keys that the weight hook of pairs gets: four where these have their random
// numbers from one call.
int64_t weight_keys_of_pairs(const AttentionPlan& plan) {
  const int64_t keys = keys_of_weight_hook(plan);
  const bool is_random = calls(plan.weight, {ir::Fn::rand_uniform, ir::Fn::rand_normal});
  return keys == 4 && !is_random ? 2 : keys;
}

// The neighbouring keys that a score hook gets where the places of elements are not known. Masks
// that load nothing take scores one by one, so that these stay in registers.
int64_t score_keys(const AttentionPlan& plan) {
  bool loads = !plan.is_scaled;
  if (plan.seen)
    ir::visit(plan.seen,
              [&](const Expr& node) { loads |= node->kind == ir::ExprNode::Kind::load; });
  return loads ? 4 : 1;
}

// A plan's kernel, and what each of its configs asks of it.
struct Attention {
  using Values = AttentionCoopmat;
  using Shape = AttentionCoopmat;

  Attention(const Region& region, AttentionPlan of, const Target& on,
            std::vector<MatrixUnit> multiplying)
      : plan(std::move(of)), target(on), units(std::move(multiplying)), sharing(plan.sharing()) {
    set_plan(common, plan);
    common.q = described(region, target, plan.q);
    common.k = described(region, target, plan.k);
    common.v = described(region, target, plan.v);
    common.subgroup = target.subgroup_size;
    common.score_keys = score_keys(plan);
    converts = target.matrix_conversions && lacking_extension(target.api, kConversions).empty();
    if (const MatrixUnit* found = fragment_unit(target, plan.q.dtype)) fragments = *found;
    AttentionTile tile;
    tile.holds = true;
    const HeldWords held = AttentionHooks(plan, tile).held_words();
    held_score = held.score;
    held_inside = held.inside;
    if (!plan.is_scaled) score_text = text_slots(std::vector{plan.score});
    if (plan.seen) score_text += text_slots(std::vector{plan.seen});
    if (plan.weight) {
      weight_keys = weight_keys_of_pairs(plan);
      weight_text =
          text_slots(std::vector{plan.weight}) / static_cast<double>(weight_keys == 4 ? 4 : 1);
    }
    small_bits =
        std::bit_cast<int32_t>(plan.is_scaled ? 0.0F : small_products(plan).value_or(0.0F));
  }

  const AttentionCoopmat& values() const { return common; }
  AttentionCoopmat shape(AttentionCoopmat a) const {
    a.pack = packed_batches(plan, sharing, a.block_q);
    a.pairs = has_pairs(a);
    if (a.pairs) {
      a.score_keys = 2;
      a.held = held_score;
      a.held_inside = held_inside;
      a.small_bits = small_bits;
      a.ahead = coopmat::held_words(a) <= kMostAhead;
    }
    a.converts = converts && a.unit_n == a.unit_k && (a.pairs || a.weights == 0);
    if (a.pairs && a.converts && a.weights > 0) a.weights = weight_keys;
    a.staged = coopmat::staged_units(a);
    return a;
  }
  // Hooks of a thread's pairs stand in the text once for each of them, and for each way that a tile
  // may take. Long ones would take the compiler seconds, and have no room in the cache of
  // instructions.
  bool has_pairs(const AttentionCoopmat& a) const {
    constexpr double kMostText = 12000;
    if (!fragments || a.unit_m != fragments->m || a.unit_n != fragments->n ||
        a.subgroup != kFragmentThreads)
      return false;
    const double ways = (plan.is_scaled || !plan.seen ? 1 : 2) * (small_bits != 0 ? 2 : 1);
    const auto scores = static_cast<double>(2 * coopmat::pairs(a) * a.stages);
    return scores * (score_text * ways + weight_text) <= kMostText;
  }
  // Tiles of keys that a workgroup walks over, at most.
  SymInt walked(const AttentionCoopmat& a, const SymInt& keys) const {
    return ir::ceildiv(ir::ceildiv(keys, a.block_k), a.parts);
  }

  const MatrixUnit* unit(const AttentionCoopmat& a) const {
    const auto found = std::ranges::find_if(units, [&](const MatrixUnit& one) {
      return one.m == a.unit_m && one.n == a.unit_n && one.k == a.unit_k;
    });
    return found == units.end() ? nullptr : &*found;
  }
  // The sizes of units along one side, each once.
  std::vector<int64_t> sizes_of(int MatrixUnit::*side) const {
    std::set<int64_t> sizes;
    for (const MatrixUnit& one : units) sizes.insert(one.*side);
    return {sizes.begin(), sizes.end()};
  }

  int64_t registers(const AttentionCoopmat& a) const {
    return coopmat::registers(a) + (turns_matrices(target) ? 0 : coopmat::turned_registers(a));
  }
  // Registers of a software device are memory.
  int64_t most_registers(const AttentionCoopmat& a) const {
    if (target.indexed_registers) return int64_t{1} << 20;
    return std::min<int64_t>(255, target.registers_per_unit / coopmat::threads(a));
  }

  // Workgroups that share a unit.
  double resident(const AttentionCoopmat& a) const {
    const auto number = [](int64_t value) { return static_cast<double>(value); };
    const double threads = number(coopmat::threads(a));
    return std::max(
        1.0, std::floor(std::min(
                 {number(target.registers_per_unit) / (threads * number(registers(a))),
                  target.max_threads_per_unit / threads,
                  number(shared_bytes_of_unit(target)) / number(coopmat::shared_bytes(a))})));
  }

  AttentionPlan plan;
  Target target;
  std::vector<MatrixUnit> units;
  int64_t sharing;
  bool converts = false;  // weights, where a matrix of sums has the sides of one of operands
  std::optional<MatrixUnit> fragments;  // where threads hold known elements of sums
  // The hooks of pairs have these.
  int64_t held_score = 0, held_inside = 0, weight_keys = 0, small_bits = 0;
  double score_text = 0, weight_text = 0;  // of a score
  int64_t longest_keys = plan.at_longest().keys;
  AttentionCoopmat common;
};

constexpr Rule<AttentionCoopmat, Attention> kValueRules[] = {
    {"the target has matrix units of these sizes",
     [](const auto& a, const Attention& of) {
       return of.unit(a) != nullptr && coopmat::legal_units(a);
     }},
    {"subgroups have whole matrices, and share rows or keys",
     [](const auto& a, const auto&) { return coopmat::legal_subgroups(a); }},
    {"a subgroup multiplies at most 256 matrices in a turn of its loop, 64 on a software device",
     [](const auto& a, const Attention& of) {
       return coopmat::products(a) <= (of.target.is_cpu ? 64 : 256);
     }},
    {"workgroups are no larger than the target's",
     [](const auto& a, const Attention& of) {
       return coopmat::threads(a) <= of.target.max_workgroup_size;
     }},
};
constexpr Rule<AttentionCoopmat, Attention> kRules[] = {
    {"the tiles fit into shared memory",
     [](const auto& a, const Attention& of) {
       return coopmat::shared_bytes(a) <= of.target.static_shared_bytes();
     }},
    {"accumulators, matrices and the tile on its way fit into registers",
     [](const auto& a, const Attention& of) { return of.registers(a) <= of.most_registers(a); }},
    {"keys are split into parts of two tiles or more, where queries leave units idle",
     [](const auto& a, const Attention& of) {
       return a.parts == 1 || (a.parts * 2 * a.block_k <= of.longest_keys &&
                               coopmat::workgroups(a) <= 8 * of.target.compute_units);
     }},
    {"loops are as short as the device allows",
     [](const auto& a, const Attention& of) {
       return of.target.max_loop_iterations == 0 ||
              coopmat::iterations(a, of.walked(a, a.keys).value()) <= of.target.max_loop_iterations;
     }},
};

using AttentionRules = RuleSpace<Attention>;

std::vector<Field<AttentionCoopmat>> all_fields() {
  using V = AttentionCoopmat;
  return {
      {"block_q", {8, 16, 32, 64, 128, 256}, "rows of a workgroup", &V::block_q},
      {"block_k", {8, 16, 32, 64, 128}, "keys of a tile", &V::block_k},
      {"subgroups_q", {1, 2, 4, 8}, "subgroups that share the rows", &V::subgroups_q},
      {"subgroups_k", {1, 2, 4, 8}, "subgroups that share the keys of a tile", &V::subgroups_k},
      {"unit_m", {}, "rows of a matrix", &V::unit_m},
      {"unit_n", {}, "columns of a matrix", &V::unit_n},
      {"unit_k", {}, "depths, or keys of weights, in a matrix", &V::unit_k},
      {"keeps_queries", {0, 1}, "1: queries stay in registers, 0: in shared memory", &V::keeps},
      {"stages", {1, 2}, "slots of tiles of keys and values in shared memory", &V::stages},
      {"split_keys",
       {1, 2, 4, 8, 16, 32, 64},
       "workgroups that share the keys of a query",
       &V::parts},
  };
}

AttentionRules rules_of(std::shared_ptr<const Attention> of) {
  std::vector<Field<AttentionCoopmat>> fields = all_fields();
  values_of(fields, "unit_m") = of->sizes_of(&MatrixUnit::m);
  values_of(fields, "unit_n") = of->sizes_of(&MatrixUnit::n);
  values_of(fields, "unit_k") = of->sizes_of(&MatrixUnit::k);
  return {std::move(of), std::move(fields), kValueRules, kRules};
}

class CoopmatAttention : public AttentionCandidate<Attention> {
 public:
  using AttentionCandidate::AttentionCandidate;

  // The estimates count computed operands for each tile of queries.
  bool computes_operands_once() const override { return true; }

 private:
  // The fastest by the cost model; better one that leaves registers for the places of loads, where
  // the compiler keeps them. Of equal ones, that of the unit which the target names first.
  Config make_default_config() const override {
    constexpr int64_t kPlaces = 8;
    const Attention& of = rules().of();
    const auto fastest = rules().fastest([&, seconds_of = default_model()](const Shape& a) {
      const bool spills =
          of.registers(a) + kPlaces * target().load_registers > of.most_registers(a);
      return std::tuple(spills, seconds_of(a), of.unit(a) - of.units.data());
    });
    TCC_CHECK(fastest, "no legal attention config on ", target().id());
    return rules().config(fastest->values);
  }

  // Cycles of a tile of keys are those of its products, of shared memory, of scores that become
  // weights, and of waits for the next tile. Fitted to 14 plain kernels on an H200, whose times
  // they hit within 9 % (docs/decisions/070-attention-coopmat-in-registers.md).
  ShapeModel model_of(const AttentionPlan& plan) const override {
    const KeyWalks walks =
        walks_over_keys(plan, rules().listed("block_q"), rules().listed("block_k"));
    return [=, rules = rules(), slots = score_slots(plan), slots_q = operand_slots(plan.q),
            slots_k = operand_slots(plan.k), slots_v = operand_slots(plan.v),
            bytes = region_bytes(region())](AttentionCoopmat a) {
      set_sizes(a, plan);
      const Target& target = rules.of().target;
      constexpr double kExponentials = 16, kSlots = 128, kShared = 128;  // of a unit, a cycle
      constexpr double kCached = 24;     // bytes a cycle that one unit reads from the cache
      constexpr double kWeighing = 6;    // issue slots of a score that becomes a weight
      constexpr double kLatency = 1430;  // cycles until a tile is there
      constexpr double kOneSlot = 860, kTwoSlots = 150;  // cycles of waits, which others fill
      // Cycles that begin and end a tile of queries, loads that nothing hides among them.
      const double at_ends = target.serial_workgroups ? 3500 : 6500;
      constexpr double kThreads = 128;  // that keep all matrix units of a unit busy
      constexpr double kComputed = 24;  // elements that a load hook computes in a cycle
      constexpr double kProducts = 1.06, kShares = 0.36, kWeighed = 0.5;
      constexpr double kAround =
          512;  // multiply-adds that take as long as what surrounds a matrix's
      const auto number = [](int64_t value) { return static_cast<double>(value); };
      const double clock = target.clock(), units = target.compute_units;
      const double rate = (target.flops_matrix > 0 ? target.flops_matrix : 4 * target.flops_f32) /
                          2 / units / clock;
      const double around = 1 + kAround / number(a.unit_m * a.unit_n * a.unit_k);
      const double scores = number(a.block_q * a.block_k);
      const double columns = number(coopmat::columns(a) + coopmat::columns_v(a));
      const double elements = number(a.block_k) * columns;  // of keys and values
      // Tiles are written once and read for the rows of each subgroup, weights are written and
      // read where they pass through memory.
      const double shared =
          2 * elements * number(a.subgroups_q + 1) + (a.converts ? 0 : 4 * scores) +
          (a.keeps ? 0 : 2 * number(a.subgroups_k * a.block_q * coopmat::columns(a))) +
          (coopmat::scores_pass(a) ? 16 * scores : 0);
      const double weighing = scores / kExponentials + scores * (kWeighing + slots) / kSlots;
      const auto cycles_of = [&](const kernels::AttentionOperand& operand, int64_t of,
                                 double each) {
        return operand.load == kernels::Load::tiles ? 0
                                                    : number(of) * (1 / kComputed + each / kSlots);
      };
      const double computed = cycles_of(a.k, a.block_k * coopmat::columns(a), slots_k) +
                              cycles_of(a.v, a.block_k * coopmat::columns_v(a), slots_v);
      const double computed_q = cycles_of(a.q, a.block_q * coopmat::columns(a), slots_q);
      const double threads = number(coopmat::threads(a));
      const double workgroups = number(coopmat::workgroups(a));
      const double busy = std::min(rules.of().resident(a), std::ceil(workgroups / units));
      const double few = std::max(1.0, kThreads / (threads * busy));
      const double working = few * (kProducts * around * scores * columns / rate +
                                    kShares * shared / kShared + kWeighed * weighing + computed);
      // A thread waits for each vector that it computes, beside what other workgroups do: 8-bit
      // keys of one query took 800 cycles each on an H200. The products of many queries hide it.
      const double vector_wait = a.queries * a.pack <= 2 * a.unit_m ? 800 : 0;
      const auto waits_of = [&](const kernels::AttentionOperand& operand, double count) {
        return operand.load == kernels::Load::tiles
                   ? 0
                   : vector_wait * std::ceil(count / (threads * number(operand.vector)));
      };
      const double waited = waits_of(a.k, number(a.block_k * coopmat::columns(a))) +
                            waits_of(a.v, number(a.block_k * coopmat::columns_v(a)));
      const double loaded = 2 * elements / kCached;
      const double waits = (a.stages == 1 ? kOneSlot : kTwoSlots) / busy;
      const double step =
          std::max({busy * std::max(working, loaded) + waits, kLatency, working + waited});
      const double begun =
          at_ends +
          busy * (number(a.block_q * a.subgroups_k) * columns * 12 / kShared + computed_q);
      return predicted_seconds({.walk = walks.at({a.block_q, a.block_k}),
                                .parts = a.parts,
                                .least = 1,
                                .step = step,
                                .begun = begun,
                                .workgroups = workgroups,
                                .busy = busy,
                                .bytes = bytes},
                               plan, target);
    };
  }

  KernelSequence lower(const Config& config) const override {
    const Attention& of = rules().of();
    const AttentionPlan& plan = of.plan;
    AttentionCoopmat a = rules().shape(config);
    const MatrixUnit* unit = of.unit(a);
    TCC_CHECK(unit, "a config of no matrix unit");
    const auto resident = static_cast<int64_t>(of.resident(a));
    const TileOrder order =
        order_of_tiles(plan.at_longest(), a.block_q, a.block_k, coopmat::packs(a),
                       target().compute_units * resident, Turns::as_slots_end);
    a.orders = order.by_length;
    a.heads = order.heads;

    Kernel kernel = start_kernel(region());
    kernel.source = "attention_coopmat";
    kernel.workgroup = static_cast<int>(coopmat::threads(a));
    kernel.uses_lanes = true;
    const SymInt tiles = ir::ceildiv(plan.all_queries * a.pack, a.block_q);
    kernel.grid = floordiv(plan.all_batches(), a.pack) * tiles * a.parts;
    if (!plan.all_keys.is_const()) {
      const int64_t before = coopmat::iterations(a, 0);
      kernel.loop_iterations =
          of.walked(a, plan.all_keys) * (coopmat::iterations(a, 1) - before) + before;
    }
    kernel.shared_bytes = 0;  // static, in the source
    kernel.flops = plan.flops();
    kernel.flop_rate = target().flops_matrix;
    leave_sizes_open(a, kernel, plan);
    kernel.parameters = parameters_of(a, "AttentionCoopmat", "common/attention_coopmat_shape.h");
    add_parameters(kernel.parameters, "sizes", coopmat::sizes(a));
    kernel.defines = {{"IN_STEP", target().serial_workgroups ? "1" : "0"}};
    kernel.needs.extensions = coopmat_extensions({plan.q.dtype});
    kernel.needs.extensions.insert("GL_KHR_shader_subgroup_vote");
    if (a.converts) {
      kernel.needs.extensions.insert(kConversions);
      kernel.needs.environment = "vulkan1.3";  // the extension is one to SPIR-V 1.6
    }
    kernel.needs.matrix_units = {*unit};
    if (a.pairs) kernel.needs.matrix_units.push_back(*of.fragments);
    if (a.converts && a.weights == 4)
      kernel.needs.extensions.insert("GL_KHR_shader_subgroup_shuffle");
    loosen_scores(kernel, plan, "tcc_glsl_tanh_f32");

    AttentionTile tile;
    tile.holds = a.pairs;
    tile.block_q = a.block_q;
    tile.block_k = a.block_k;
    tile.depth = round_up(coopmat::columns(a), kSegment);
    tile.depth_v = round_up(coopmat::columns_v(a), kSegment);
    tile.keys = a.score_keys;
    tile.segment = kSegment;
    const AttentionHooks hooks(plan, tile);
    add_operand_hooks(kernel, plan, hooks, a, &AttentionHooks::chunk, "chunk_");
    for (const auto& [name, operand] : {std::pair{"Q", &a.q}, {"K", &a.k}, {"V", &a.v}}) {
      if (operand->load == kernels::Load::computed) continue;
      kernel.defines.emplace_back(str(name, "_BUFFER"), str("b", operand->buffer));
      // Chunks have numbers of 32 bits.
      const SymInt& elements = kernel.arguments[static_cast<size_t>(operand->buffer)].elements;
      if (!elements.is_const())
        kernel.counts.push_back(
            {str(name, "_CHUNKS"), ir::ceildiv(elements, kChunk / size_bytes(plan.q.dtype))});
    }
    add_key_hooks(kernel, plan, hooks, a.weights);
    return storing_results(std::move(kernel), region(), plan, tile, a.parts);
  }
};

class AttentionCoopmatTemplate : public Template {
 public:
  std::string_view name() const override { return "attention_coopmat"; }
  int version() const override { return 1; }
  int specificity() const override { return 1; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  std::string_view unit() const override { return kUnit; }
  // Batches, queries and keys may be open; depths are numbers.
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    if (!target.has_matrix_unit(kUnit)) return Refusal{"the target has no coopmat", true};
    OrRefusal<AttentionPlan> plan = plan_matrix_attention(region);
    if (!plan) return plan.refusal();
    if (!has_device_source(target, "attention_coopmat"))
      return lacks_source(target, "attention_coopmat");
    plan->bounds_are_all = false;  // the score hook masks
    const DType dtype = plan->q.dtype;
    std::vector<MatrixUnit> units;
    for (const MatrixUnit& unit : target.matrix_units)
      if (is_served_coopmat(unit) && unit.a == dtype) units.push_back(unit);
    if (units.empty()) return Refusal{str("no matrix unit multiplies ", tcc::name(dtype))};
    const int64_t rows = plan->queries * plan->sharing();
    const int least = std::ranges::min(units, {}, &MatrixUnit::m).m;
    // On a GPU keys take longer to come than the matrices of one query to be multiplied.
    if (target.is_cpu && 2 * rows < least)
      return Refusal{str(rows, " queries fill little of its matrices")};
    for (const std::string& extension : coopmat_extensions({dtype}))
      if (std::string reason = lacking_extension(target.api, extension); !reason.empty())
        return Refusal{std::move(reason)};
    AttentionRules rules = rules_of(
        std::make_shared<const Attention>(region, *std::move(plan), target, std::move(units)));
    if (!rules.has_legal())
      return Refusal{str("no workgroup of ", target.id(), " has room for its tiles")};
    return std::make_shared<const CoopmatAttention>(*this, region, target, std::move(rules));
  }
};

const RegisterTemplate<AttentionCoopmatTemplate> registered;

}  // namespace
}  // namespace tcc::sched::template_attention_coopmat
