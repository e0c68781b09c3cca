// Attention on FMA units, everywhere: the loops are device source, backends/device/*/attention.*;
// what a region adds to them is its hooks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/templates/attention_candidate.h"
#include "scheduler/templates/attention_parts.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/rule_space.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_attention {
namespace {

// Vectors that a thread loads before it stores the first, while a tile is staged. A software device
// waits for none.
int64_t vectors_at_once(const Target& target) { return target.serial_workgroups ? 1 : 4; }

// A config's values.
struct AttentionValues {
  int64_t block_q, block_k, block_d, thread_q, thread_k, parts;
  bool lists;

  bool are_whole() const {
    return block_q >= thread_q && block_k >= thread_k && block_k >= block_d;
  }
};

// The sizes that follow from them.
struct AttentionShape : AttentionValues {
  AttentionShape(const AttentionPlan& plan, const AttentionValues& values)
      : AttentionValues(values),
        row_threads(block_k / thread_k),
        segment(plan.v.depths % 4 == 0   ? 4
                : plan.v.depths % 2 == 0 ? 2
                                         : 1),
        columns(ceil_div(plan.v.depths, segment * row_threads) * segment),
        depth(round_up(plan.q.depths, block_d)),
        depth_v(round_up(columns * row_threads, plan.v.vector)),
        tiles_q(ceil_div(plan.queries, block_q)) {}

  int64_t threads() const { return block_q / thread_q * row_threads; }
  // Tiles of the queries, of keys or values, of weights, and one number for each thread of a row.
  int64_t shared_bytes() const {
    const int64_t staged = block_d * std::max(block_k + 4, depth_v);
    return 4 * ((depth + block_k) * (block_q + 4) + staged + block_q * row_threads);
  }
  int64_t registers() const { return thread_q * (2 * columns + thread_k + 3) + columns + 32; }
  // Loop iterations of a thread, those that compilers unroll left out.
  SymInt iterations(const AttentionPlan& plan, const SymInt& keys) const {
    const int64_t chunks = depth / block_d + block_k / block_d;
    const int64_t vectors = block_k * depth / plan.k.vector + block_k * depth_v / plan.v.vector;
    return (ir::ceildiv(keys, block_k * parts) + 1) *
           (1 + chunks * (1 + block_d) + 2 * row_threads + ceil_div(vectors, threads()) + chunks);
  }

  int64_t row_threads;  // that share a query
  int64_t segment, columns;
  int64_t depth, depth_v;  // with padding
  int64_t tiles_q;
};

struct AttentionCase {
  using Values = AttentionValues;
  using Shape = AttentionShape;
  Values values() const { return {}; }
  Shape shape(const Values& values) const { return {plan, values}; }

  AttentionPlan plan;
  Target target;
  int64_t longest_keys = plan.at_longest().keys;
};

constexpr Rule<AttentionValues, AttentionCase> kValueRules[] = {
    {"blocks are made of whole parts",
     [](const auto& values, const auto&) { return values.are_whole(); }},
};
constexpr Rule<AttentionShape, AttentionCase> kRules[] = {
    {"a workgroup has 16 to 512 threads, and no more than the device allows",
     [](const auto& s, const auto& of) {
       return s.threads() >= 16 && s.threads() <= std::min(512, of.target.max_workgroup_size);
     }},
    {"the tiles fit into shared memory",
     [](const auto& s, const auto& of) {
       return s.shared_bytes() <= of.target.static_shared_bytes();
     }},
    {"a thread's results fit into registers",
     [](const auto& s, const auto&) { return s.registers() <= 250; }},
    {"keys are split into parts of two tiles or more, where queries leave units idle",
     [](const auto& s, const auto& of) {
       return s.parts == 1 ||
              (s.parts * 2 * s.block_k <= of.longest_keys &&
               of.plan.batches() * s.tiles_q * s.parts <= 8 * of.target.compute_units);
     }},
    {"loops are as short as the device allows",
     [](const auto& s, const auto& of) {
       return of.target.max_loop_iterations == 0 ||
              s.iterations(of.plan, of.plan.keys).value() <= of.target.max_loop_iterations;
     }},
};

using AttentionRules = RuleSpace<AttentionCase>;

std::vector<Field<AttentionValues>> all_fields() {
  using V = AttentionValues;
  return {{"block_q", {4, 8, 16, 32, 64, 128}, "queries of a workgroup", &V::block_q},
          {"block_k", {8, 16, 32, 64, 128}, "keys of a tile", &V::block_k},
          {"block_d",
           {8, 16, 32},
           "depths of keys, and keys of values, that are staged at once",
           &V::block_d},
          {"thread_q", {1, 2, 4, 8}, "queries of a thread", &V::thread_q},
          {"thread_k", {1, 2, 4, 8}, "keys of a thread", &V::thread_k},
          {"split_keys",
           {1, 2, 4, 8, 16, 32, 64},
           "workgroups that share the keys of a query",
           &V::parts},
          field_of_lists<V>()};
}

AttentionRules rules_of(AttentionPlan plan, const Target& target) {
  std::vector<Field<AttentionValues>> fields = all_fields();
  if (!AttentionTileList::is_possible(plan)) leave_out(fields, "lists");
  return {std::make_shared<const AttentionCase>(std::move(plan), target), std::move(fields),
          kValueRules, kRules};
}

class FmaAttention : public AttentionCandidate<AttentionCase> {
 public:
  using AttentionCandidate::AttentionCandidate;

  // The estimates count computed operands for each tile of queries.
  bool computes_operands_once() const override { return true; }

 private:
  ShapeModel model_of(const AttentionPlan& of) const override {
    const Region& region = this->region();
    // Fitted to 45 configs of 12 graphs, measured on an H200 through CUDA.
    constexpr double kIssued = 1.8;    // instructions of a multiply-add, with those around it
    constexpr double kCached = 0.5;    // of memory's latency: tiles that others read, too
    constexpr double kBarriers = 0.2;  // of a barrier with the accesses around it, counted below
    // Instructions of a score, beside the exponential and its place; and of a result.
    const double per_score = score_slots() + 40, epilogue = 8;
    const double bytes = region_bytes(region);
    std::map<std::pair<int64_t, int64_t>, double> shares;  // of the scores that tiles compute
    for (const int64_t block_q : rules().listed("block_q"))
      for (const int64_t block_k : rules().listed("block_k"))
        shares[{block_q, block_k}] = of.share_of_tiles(block_q, block_k);
    return [=, rules = rules(), plan = of, slots_q = operand_slots(of.q),
            slots_k = operand_slots(of.k), slots_v = operand_slots(of.v)](const AttentionShape& s) {
      const Target& target = rules.of().target;
      const auto number = [](int64_t value) { return static_cast<double>(value); };
      LaunchCost cost;
      cost.threads = number(s.threads());
      cost.workgroups = number(plan.batches() * ceil_div(plan.queries, s.block_q) * s.parts);
      cost.shared_bytes = number(s.shared_bytes());
      cost.registers = number(s.registers());
      const double threads = cost.threads * cost.workgroups;
      // Tiles of keys that a workgroup walks over.
      const double tiles = std::max(1.0, number(ceil_div(plan.keys, s.block_k * s.parts)) *
                                             shares.at({s.block_q, s.block_k}));
      const double scores = threads * tiles * number(s.thread_q * s.thread_k);
      const double results = number(s.thread_q * s.columns);
      // Multiply-adds of both products.
      const double products =
          scores * number(s.depth) + threads * tiles * results * number(s.block_k);
      const double staged = cost.workgroups * tiles * number(s.block_k * (s.depth + s.depth_v));
      const double vectors =
          cost.workgroups * tiles * number(s.block_k) *
          (number(s.depth) / number(plan.k.vector) + number(s.depth_v) / number(plan.v.vector));
      const double computed =
          cost.workgroups *
          (number(s.block_q * s.depth) * slots_q +
           tiles * number(s.block_k) * (number(s.depth) * slots_k + number(s.depth_v) * slots_v));
      cost.arithmetic = (target.serial_workgroups ? 1 : kIssued) * products + scores * per_score +
                        computed + threads * tiles * 2 * results + 16 * vectors +
                        threads * results * epilogue + 200 * threads;
      // Steps of the products, each of which reads its operands from shared memory.
      const double parts_s = std::ceil(number(s.thread_q) / 4) + std::ceil(number(s.thread_k) / 4);
      const double parts_v = std::ceil(number(s.thread_q) / 4) + number(s.columns / s.segment);
      const double steps_s = threads * tiles * number(s.depth),
                   steps_v = threads * tiles * number(s.block_k);
      cost.accesses = steps_s * parts_s + steps_v * parts_v + vectors + staged + 3 * scores;
      const double words_s = number(s.thread_q + s.thread_k),
                   words_v = number(s.thread_q + s.columns);
      cost.bank_cycles =
          (steps_s * (words_s - parts_s) + steps_v * (words_v - parts_v) + staged) / 32;
      // A software device pays for those of shared memory, too.
      cost.elements = 2 * staged + (steps_s * words_s + steps_v * words_v) / 2 + threads * results;
      cost.memory_bytes = bytes;
      const double operand_bytes = size_bytes(plan.k.dtype);
      cost.cache_bytes = bytes + staged * operand_bytes;
      // Nothing is multiplied while a tile is staged: the next one is not on its way.
      const auto trips = [&](int64_t staged_vectors) {
        return number(ceil_div(staged_vectors, s.threads() * vectors_at_once(target)));
      };
      const int64_t chunks_k = s.depth / s.block_d, chunks_v = s.block_k / s.block_d;
      const double chunks = number(chunks_k + chunks_v);
      cost.stalls = 1 + trips(s.block_q * s.depth / plan.q.vector) +
                    kCached * tiles *
                        (number(chunks_k) * trips(s.block_k * s.block_d / plan.k.vector) +
                         number(chunks_v) * trips(s.block_d * s.depth_v / plan.v.vector));
      cost.round_trips = 0;
      cost.bytes_in_flight = HUGE_VAL;
      const double barriers = tiles * (2 * chunks + 1) + 3;
      cost.barriers = target.serial_workgroups ? barriers : kBarriers * barriers;
      cost.parallelism = std::min(8.0, 2 * number(s.thread_q * s.thread_k));
      if (s.parts == 1) return predicted_seconds(cost, target);
      const double partial = number(AttentionKeyParts::bytes(plan, s.parts));
      cost.memory_bytes += partial;
      cost.cache_bytes += partial;
      return predicted_seconds(cost, target) +
             AttentionKeyParts::combining_seconds(plan, s.parts, target);
    };
  }

  // Issue slots of a score's expression.
  double score_slots() const {
    const AttentionPlan& plan = this->plan();
    const std::vector<Expr> values = {plan.score,
                                      plan.seen ? plan.seen : ir::constant_int(DType::boolean, 1),
                                      plan.weight ? plan.weight : ir::constant(DType::f32, 1)};
    return element_work(values, plan.key).slots;
  }

  KernelSequence lower(const Config& config) const override {
    const AttentionPlan& plan = this->plan();
    const AttentionShape s = rules().shape(config);
    Kernel kernel = start_kernel(region());
    kernel.source = "attention";
    kernel.workgroup = static_cast<int>(s.threads());
    const SymInt tiles_q = ir::ceildiv(plan.all_queries, s.block_q);
    kernel.grid = plan.all_batches() * tiles_q * s.parts;
    kernel.shared_bytes = 0;  // static, in the source
    kernel.flops = plan.flops();
    AttentionTile tile;
    tile.block_q = s.block_q;
    tile.block_k = s.block_k;
    tile.depth = s.depth;
    tile.depth_v = s.depth_v;
    tile.keys = s.thread_k;
    tile.segment = s.segment;
    const AttentionHooks hooks(plan, tile);
    // Scores of tiles that all queries see whole: 0 for there are none, 1 for raw ones.
    const bool is_masked = plan.seen || !plan.all_keys.divisible_by(s.block_k);
    const int inside = !is_masked ? 0 : plan.is_scaled ? 1 : 2;
    const auto define = [&](std::string name, int64_t value) {
      kernel.defines.push_back({std::move(name), std::to_string(value)});
    };
    for (const auto& [name, key] : {std::pair{"BLOCK_Q", "block_q"},
                                    {"BLOCK_K", "block_k"},
                                    {"BLOCK_D", "block_d"},
                                    {"THREAD_Q", "thread_q"},
                                    {"THREAD_K", "thread_k"}})
      define(name, config[key]);
    define("DEPTH", plan.q.depths);
    define("DEPTH_V", plan.v.depths);
    define("Q_VECTOR", plan.q.vector);
    define("K_VECTOR", plan.k.vector);
    define("V_VECTOR", plan.v.vector);
    define("VECTORS_AT_ONCE", vectors_at_once(target()));
    define("SEGMENT", s.segment);
    if (tiles_q.is_const())
      define("TILES_Q", s.tiles_q);
    else
      kernel.counts.push_back({"TILES_Q", tiles_q});
    if (!plan.all_keys.is_const()) {  // the source counts them in 32 bits, and loops over them
      kernel.counts.push_back({"KEYS", plan.all_keys});
      kernel.loop_iterations = s.iterations(plan, plan.all_keys);
    }
    define("PARTS", s.parts);
    kernel.defines.push_back({"SCALE", float_text(plan.scale)});
    define("INSIDE", inside);
    define("SAFE", plan.safe);
    define("WEIGHTS", plan.weight != nullptr);
    define("STORE_SUM", !plan.sums.empty());
    define("LISTS", s.lists);
    kernel.hooks = {hooks.load(plan.q, "load_q"), hooks.load(plan.k, "load_k"),
                    hooks.load(plan.v, "load_v"), hooks.score("score")};
    if (inside == 2) kernel.hooks.push_back(hooks.score_inside("score_inside"));
    if (plan.weight) kernel.hooks.push_back(hooks.weight("weight", s.thread_k));
    kernel.hooks.push_back(hooks.key_range("key_range"));
    return with_list(storing_results(std::move(kernel), region(), plan, tile, s.parts), tile,
                     s.lists);
  }

  static std::string float_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9ef", value);
    return text;
  }
};

class AttentionTemplate : public Template {
 public:
  std::string_view name() const override { return "attention"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  int least_workgroup() const override { return 16; }
  // Batches, queries and keys may be open; depths are numbers.
  bool takes_open_dims() const override { return true; }

  std::vector<std::vector<const ir::Node*>> seeds(const ir::Graph& graph,
                                                  const Target&) const override {
    return attention_seeds(graph);
  }
  std::vector<NearSeed> near_seeds(const ir::Graph& graph) const override {
    return near_attention(graph);
  }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<AttentionPlan> plan = plan_attention(region);
    if (!plan) return plan.refusal();
    if (!has_device_source(target, "attention")) return lacks_source(target, "attention");
    AttentionRules rules = rules_of(*std::move(plan), target);
    if (!rules.has_legal())
      return Refusal{str("no workgroup of ", target.id(), " has memory and loops for its tiles")};
    return std::make_shared<const FmaAttention>(*this, region, target, std::move(rules));
  }
};

const RegisterTemplate<AttentionTemplate> registered;

}  // namespace
}  // namespace tcc::sched::template_attention
