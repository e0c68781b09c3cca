// Attention on FMA units, everywhere: the loops are device source, backends/device/*/attention.*;
// what a region adds to them is its hooks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "scheduler/cost.h"
#include "scheduler/templates/attention_hooks.h"
#include "scheduler/templates/common.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// The sizes that follow from a config.
struct AttentionShape {
  AttentionShape(const AttentionPlan& plan, const Config& c)
      : block_q(c["block_q"]),
        block_k(c["block_k"]),
        block_d(c["block_d"]),
        thread_q(c["thread_q"]),
        thread_k(c["thread_k"]),
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

  int64_t block_q, block_k, block_d, thread_q, thread_k;
  int64_t row_threads;  // that share a query
  int64_t segment, columns;
  int64_t depth, depth_v;  // with padding
  int64_t tiles_q;
};

// Loop iterations of a thread, those that compilers unroll left out.
int64_t iterations_of(const AttentionPlan& plan, const AttentionShape& s) {
  const int64_t tile = 1 + s.depth / s.block_d + s.block_k / s.block_d + 2 * s.row_threads;
  const int64_t vectors =
      s.block_k * s.depth / plan.k.vector + s.block_k * s.depth_v / plan.v.vector;
  return (ceil_div(plan.keys, s.block_k) + 1) * (tile + ceil_div(vectors, s.threads()));
}

class FmaAttention : public Candidate {
 public:
  FmaAttention(const Template& by, const Region& region, const Target& target, AttentionPlan plan)
      : Candidate(by, region, target), plan_(std::move(plan)) {}

 private:
  ConfigSpace make_space() const override {
    const Target& target = this->target();
    ConfigSpace space;
    space.parameters = {
        {"block_q", {4, 8, 16, 32, 64, 128}, "queries of a workgroup"},
        {"block_k", {8, 16, 32, 64, 128}, "keys of a tile"},
        {"block_d", {8, 16, 32}, "depths of keys, and keys of values, that are staged at once"},
        {"thread_q", {1, 2, 4, 8}, "queries of a thread"},
        {"thread_k", {1, 2, 4, 8}, "keys of a thread"},
    };
    space.constraints = {
        {"blocks are made of whole parts",
         [](const Config& c) {
           return c["block_q"] >= c["thread_q"] && c["block_k"] >= c["thread_k"] &&
                  c["block_k"] >= c["block_d"];
         }},
        {"a workgroup has 16 to 512 threads, and no more than the device allows",
         [plan = plan_, max = std::min(512, target.max_workgroup_size)](const Config& c) {
           const int64_t threads = AttentionShape(plan, c).threads();
           return threads >= 16 && threads <= max;
         }},
        {"the tiles fit into shared memory",
         [plan = plan_, bytes = target.static_shared_bytes()](const Config& c) {
           return AttentionShape(plan, c).shared_bytes() <= bytes;
         }},
        {"a thread's results fit into registers",
         [plan = plan_](const Config& c) { return AttentionShape(plan, c).registers() <= 250; }},
        {"loops are as short as the device allows",
         [plan = plan_, most = target.max_loop_iterations](const Config& c) {
           return most == 0 || iterations_of(plan, AttentionShape(plan, c)) <= most;
         }},
    };
    return space;
  }

  // The fastest by the cost model, which is quick.
  Config make_default_config() const override {
    const CostModel& cost = cost_model();
    Config best;
    double best_seconds = 0;
    space().enumerate([&](const Config& config) {
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

  CostModel make_cost_model() const override {
    const Region& region = this->region();
    // Nothing is multiplied while a tile is staged: the next one is not on its way.
    constexpr double kStaged = 1.4;
    // Tiles that others read, too, come from the cache.
    constexpr double kCached = 0.6;
    // Instructions of a score, beside the exponential and its place; and of a result.
    const double per_score = score_slots() + 24, epilogue = 8;
    const double bytes = region_bytes(region);
    std::map<std::pair<int64_t, int64_t>, double> shares;  // of the scores that tiles compute
    for (const int64_t block_q : space().parameters[0].values)
      for (const int64_t block_k : space().parameters[1].values)
        shares[{block_q, block_k}] = plan_.share_of_tiles(block_q, block_k);
    return [=, plan = plan_, target = target()](const Config& c) {
      const AttentionShape s(plan, c);
      const auto number = [](int64_t value) { return static_cast<double>(value); };
      LaunchCost cost;
      cost.threads = number(s.threads());
      cost.workgroups = number(plan.batches() * s.tiles_q);
      cost.shared_bytes = number(s.shared_bytes());
      cost.registers = number(s.registers());
      const double threads = cost.threads * cost.workgroups;
      // Tiles of keys that a workgroup walks over.
      const double tiles =
          number(ceil_div(plan.keys, s.block_k)) * shares.at({s.block_q, s.block_k});
      const double scores = threads * tiles * number(s.thread_q * s.thread_k);
      const double results = number(s.thread_q * s.columns);
      // Multiply-adds of both products.
      const double products =
          scores * number(s.depth) + threads * tiles * results * number(s.block_k);
      const double staged = cost.workgroups * tiles * number(s.block_k * (s.depth + s.depth_v));
      const double vectors =
          cost.workgroups * tiles * number(s.block_k) *
          (number(s.depth) / number(plan.k.vector) + number(s.depth_v) / number(plan.v.vector));
      cost.arithmetic = kStaged * products + scores * per_score + threads * tiles * 2 * results +
                        16 * vectors + threads * results * epilogue + 200 * threads;
      // Steps of the products, each of which reads its operands from shared memory.
      const double parts_s = std::ceil(number(s.thread_q) / 4) + std::ceil(number(s.thread_k) / 4);
      const double parts_v = std::ceil(number(s.thread_q) / 4) + number(s.columns / s.segment);
      const double steps_s = threads * tiles * number(s.depth),
                   steps_v = threads * tiles * number(s.block_k);
      cost.accesses = steps_s * parts_s + steps_v * parts_v + vectors + staged + 3 * scores;
      const double words_s = number(s.thread_q + s.thread_k),
                   words_v = number(s.thread_q + s.columns);
      cost.bank_cycles = (steps_s * std::max(0.0, words_s / 2 - parts_s) +
                          steps_v * std::max(0.0, words_v / 2 - parts_v) + staged) /
                         32;
      cost.elements = vectors + threads * results / number(s.segment);
      cost.memory_bytes = bytes;
      const double operand_bytes = size_bytes(plan.k.dtype);
      cost.cache_bytes = bytes + staged * operand_bytes;
      cost.bytes_in_flight =
          std::max(4.0, number(s.block_d * (s.block_k + 4)) / cost.threads * operand_bytes);
      const double chunks = number(s.depth / s.block_d + s.block_k / s.block_d);
      cost.round_trips = 1 + kCached * tiles * chunks;
      cost.barriers = tiles * (2 * chunks + 1) + 3;
      cost.parallelism = std::min(8.0, number(s.thread_q * s.thread_k));
      return predicted_seconds(cost, target);
    };
  }

  // Issue slots of a score's expression.
  double score_slots() const {
    const std::vector<Expr> values = {
        plan_.score, plan_.seen ? plan_.seen : ir::constant_int(DType::boolean, 1)};
    return element_work(values, plan_.key).slots;
  }

  KernelSequence lower(const Config& config) const override {
    const AttentionPlan& plan = plan_;
    const AttentionShape s(plan, config);
    Kernel kernel = start_kernel(region());
    kernel.source = "attention";
    kernel.workgroup = static_cast<int>(s.threads());
    kernel.grid = plan.batches() * s.tiles_q;
    kernel.shared_bytes = 0;  // static, in the source
    kernel.flops = plan.flops() * plan.share_of_tiles(1, 1);
    AttentionTile tile;
    tile.block_q = s.block_q;
    tile.block_k = s.block_k;
    tile.depth = s.depth;
    tile.depth_v = s.depth_v;
    tile.keys = s.thread_k;
    tile.segment = s.segment;
    const AttentionHooks hooks(plan, tile);
    // Scores of tiles that all queries see whole: 0 for there are none, 1 for raw ones.
    const bool is_masked = plan.seen || plan.keys % s.block_k != 0;
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
    define("SEGMENT", s.segment);
    define("TILES_Q", s.tiles_q);
    kernel.defines.push_back({"SCALE", float_text(plan.scale)});
    define("INSIDE", inside);
    define("SAFE", plan.safe);
    define("STORE_SUM", !plan.sums.empty());
    kernel.hooks = {hooks.load(plan.q, "load_q"), hooks.load(plan.k, "load_k"),
                    hooks.load(plan.v, "load_v"), hooks.score("score")};
    if (inside == 2) kernel.hooks.push_back(hooks.score_inside("score_inside"));
    for (Hook& hook : hooks.key_ranges())
      if (inside != 0 || !hook.name.starts_with("inside")) kernel.hooks.push_back(std::move(hook));
    kernel.hooks.push_back(hooks.epilogue("epilogue"));
    if (!plan.sums.empty()) kernel.hooks.push_back(hooks.store_sum("store_sum"));
    return kernel;
  }

  static std::string float_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9ef", value);
    return text;
  }

  AttentionPlan plan_;
};

class AttentionTemplate : public Template {
 public:
  std::string_view name() const override { return "attention"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  int least_workgroup() const override { return 16; }

  std::vector<std::vector<const ir::Node*>> seeds(const ir::Graph& graph,
                                                  const Target&) const override {
    return attention_seeds(graph);
  }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<AttentionPlan> plan = plan_attention(region);
    if (!plan) return plan.refusal();
    auto candidate = std::make_shared<const FmaAttention>(*this, region, target, *std::move(plan));
    bool is_legal = false;
    candidate->space().enumerate([&](const Config&) {
      is_legal = true;
      return false;
    });
    if (!is_legal)
      return Refusal{str("no workgroup of ", target.id(), " has memory and loops for its tiles")};
    return candidate;
  }
};

const RegisterTemplate<AttentionTemplate> registered;

}  // namespace
}  // namespace tcc::sched
