// All steps of a recurrent layer as one kernel: the loops are backends/device/common/recurrent.inc.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/recurrent_hooks.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

enum Weights : int64_t { kInShared, kInRegisters, kInMemory };

constexpr int64_t kChunk = 4;  // neighbouring weights of a column that a thread takes at once
// Estimates of GPUs were not compared with measurements: one kernel must win by so much.
constexpr double kMargin = 1.3;
constexpr int64_t kMostKept = 128;  // weights in the registers of a thread

// A config's values.
struct RecurrentValues {
  int64_t rows, threads, shares, thread_columns, thread_rows, weights;
};

RecurrentValues values_of(const Config& c) {
  return {c["rows"],           c["threads"],     c["shares"],
          c["thread_columns"], c["thread_rows"], c["weights"]};
}

// The sizes that follow from them, as the device source has them.
struct RecurrentShape : RecurrentValues {
  RecurrentShape(const ir::RecurrentSteps& sizes, const RecurrentValues& values)
      : RecurrentValues(values),
        hidden(sizes.hidden),
        steps(sizes.steps),
        batch(sizes.batch),
        gates(sizes.gates),
        states(sizes.states),
        groups(ceil_div(batch, rows)),
        workgroups(sizes.directions * groups),
        columns(gates * hidden),
        threads_r(rows / thread_rows),
        threads_c(threads_r == 0 ? 0 : threads / (threads_r * shares)),
        tiles(threads_c == 0 ? 0 : ceil_div(columns, threads_c * thread_columns)),
        thread_chunks(ceil_div(ceil_div(hidden, kChunk), shares)),
        chunks(thread_chunks * shares),
        items(ceil_div(hidden * rows, threads)) {}

  bool is_whole() const {
    return rows % thread_rows == 0 && threads_c > 0 &&
           shares <= power_of_two_at_least(ceil_div(hidden, kChunk)) &&
           threads_c * thread_columns < 2 * std::max(columns, thread_columns);
  }
  int64_t weight_words() const { return chunks * kChunk * columns; }
  int64_t shared_bytes() const {
    const int64_t words = rows * (chunks * kChunk + 4) +
                          round_up(shares * rows * columns + states * items * threads, 4);
    return 4 * (words + (weights == kInShared ? weight_words() : 0));
  }
  // Weights that a thread keeps.
  int64_t kept() const {
    return weights == kInRegisters ? thread_chunks * kChunk * thread_columns : 0;
  }
  int64_t registers() const {
    return 48 + kept() + thread_columns * (thread_rows + kChunk) + kChunk + 3 * gates;
  }
  // Loop iterations of a thread, unrolled ones included.
  int64_t iterations() const {
    const int64_t parts = thread_chunks * kChunk;  // vectors may be of one weight
    const int64_t product =
        parts * (1 + 3 * thread_columns + thread_rows * (2 + 2 * thread_columns)) +
        3 * thread_columns * (1 + thread_rows);
    const int64_t item = 1 + shares * (1 + gates) + gates + 6 * states;
    const int64_t fill = ceil_div(rows * (chunks * kChunk + 4), threads) * (1 + states) +
                         items * (1 + 2 * states) +
                         (weights == kInMemory ? 0 : 4 * ceil_div(weight_words(), threads) * 4);
    return steps * (1 + tiles * (1 + product) + items * item) + fill;
  }

  int64_t hidden, steps, batch, gates, states;
  int64_t groups, workgroups, columns;
  // Threads along the rows and the columns; columns are so many tiles.
  int64_t threads_r, threads_c, tiles;
  int64_t thread_chunks, chunks, items;
};

struct RecurrentRule {
  const char* reason;
  bool (*holds)(const RecurrentShape&, const Target&);
};

// Later ones rely on those before.
constexpr RecurrentRule kRules[] = {
    {"threads share out rows, columns and sums, and none is idle for want of them",
     [](const auto& s, const auto&) { return s.is_whole(); }},
    {"a workgroup has no more threads than the device allows",
     [](const auto& s, const auto& target) { return s.threads <= target.max_workgroup_size; }},
    {"fewer than twice the batch's rows",
     [](const auto& s, const auto&) { return s.rows < 2 * s.batch; }},
    {"weights in registers are those of one tile, and few",
     [](const auto& s, const auto&) {
       return s.weights != kInRegisters || (s.tiles == 1 && s.kept() <= kMostKept);
     }},
    {"sums are few",
     [](const auto& s, const auto&) { return s.thread_columns * s.thread_rows <= 32; }},
    {"the registers of a unit suffice",
     [](const auto& s, const auto& target) {
       return target.indexed_registers || s.registers() * s.threads <= target.registers_per_unit;
     }},
    {"the states, the sums and the weights fit into shared memory",
     [](const auto& s, const auto& target) { return s.shared_bytes() <= target.shared_bytes; }},
    {"loops are as short as the device allows",
     [](const auto& s, const auto& target) {
       return target.max_loop_iterations == 0 || s.iterations() <= target.max_loop_iterations;
     }},
};

const std::vector<Parameter>& recurrent_parameters() {
  static const std::vector<Parameter> parameters = {
      {"rows", {1, 2, 4, 8, 16}, "rows of the batch that a workgroup has"},
      {"threads", {32, 64, 128, 256, 512}, "threads of a workgroup"},
      {"shares", {1, 2, 4, 8, 16, 32}, "threads that share a sum"},
      {"thread_columns", {1, 2, 4, 8}, "columns of the weights that a thread multiplies at once"},
      {"thread_rows", {1, 2, 4, 8}, "rows of the state that it multiplies at once"},
      {"weights",
       {kInShared, kInRegisters, kInMemory},
       "the weights stay in shared memory (0) or registers (1), or are read at each step (2)"},
  };
  return parameters;
}

// Calls `visit` with every legal shape, without the detour through configs.
void each_shape(const RecurrentPlan& plan, const Target& target,
                const std::function<void(const RecurrentShape&)>& visit) {
  const auto& of = recurrent_parameters();
  for (const int64_t rows : of[0].values)
    for (const int64_t threads : of[1].values)
      for (const int64_t shares : of[2].values)
        for (const int64_t thread_columns : of[3].values)
          for (const int64_t thread_rows : of[4].values)
            for (const int64_t weights : of[5].values) {
              const RecurrentShape s(plan.sizes,
                                     {rows, threads, shares, thread_columns, thread_rows, weights});
              if (std::ranges::all_of(kRules,
                                      [&](const auto& rule) { return rule.holds(s, target); }))
                visit(s);
            }
}

double number(int64_t value) { return static_cast<double>(value); }

// Predicts the seconds of a shape. No GPU was measured.
class RecurrentModel {
 public:
  RecurrentModel(const Region& region, const RecurrentPlan& plan, const Target& target)
      : target_(target),
        slots_(cell_slots(region, plan)),
        bytes_(region_bytes(region)),
        element_(size_bytes(plan.dtype)) {}

  double seconds(const RecurrentShape& s) const {
    const double threads = number(s.threads * s.workgroups), steps = number(s.steps);
    // One thread does this in one step.
    const double chunks = number(s.tiles * s.thread_chunks);
    const double weights = chunks * number(kChunk * s.thread_columns);
    const double items = number(s.items), sums = items * number(s.shares * s.gates);
    const double rows = chunks * number(kChunk * s.thread_rows);
    const bool is_read = s.weights == kInMemory, is_shared = s.weights == kInShared;
    LaunchCost cost;
    cost.threads = number(s.threads);
    cost.workgroups = number(s.workgroups);
    cost.shared_bytes = number(s.shared_bytes());
    cost.registers = number(s.registers());
    cost.arithmetic =
        threads * steps * (weights * number(s.thread_rows) + items * (slots_ + 40) + sums + 20);
    cost.accesses = threads * steps *
                    ((is_read     ? 0.5
                      : is_shared ? 1
                                  : 0) *
                         weights +
                     rows + sums + items * number(s.gates + 2 * s.states + 2));
    cost.elements = threads * steps *
                    ((s.weights == kInRegisters ? 0.5 : 1) * weights + rows + sums +
                     items * number(s.gates + 2 * s.states + 2));
    // All weights come at each step, or once.
    const double all = number(s.workgroups * s.weight_words()) * element_;
    cost.memory_bytes = bytes_;
    cost.cache_bytes = bytes_ + all * (is_read ? steps : 1);
    cost.bytes_in_flight = 16;
    cost.round_trips = 2;
    // The projection's part is waited for, and weights that are not on the chip.
    cost.stalls = steps * (is_read ? 1.5 : 1);
    cost.barriers = 2 * steps + 1;
    cost.parallelism = std::min(8.0, number(s.thread_columns * s.thread_rows) + 1);
    return predicted_seconds(cost, target_);
  }

 private:
  const Target& target_;
  double slots_, bytes_, element_;
};

struct Fastest {
  RecurrentValues values;
  double seconds;
};
std::optional<Fastest> fastest(const Region& region, const RecurrentPlan& plan,
                               const Target& target) {
  const RecurrentModel model(region, plan, target);
  std::optional<Fastest> best;
  each_shape(plan, target, [&](const RecurrentShape& s) {
    const double seconds = model.seconds(s);
    if (!best || seconds < best->seconds) best = Fastest{s, seconds};
  });
  return best;
}

class WholeLayer : public Candidate {
 public:
  WholeLayer(const Template& by, const Region& region, const Target& target, RecurrentPlan plan,
             const RecurrentValues& fastest)
      : Candidate(by, region, target),
        plan_(std::make_shared<const RecurrentPlan>(std::move(plan))),
        fastest_(fastest) {}

 private:
  ConfigSpace make_space() const override {
    ConfigSpace space;
    space.parameters = recurrent_parameters();
    for (const RecurrentRule& rule : kRules)
      space.constraints.push_back(
          {rule.reason, [&rule, sizes = plan_->sizes, target = target()](const Config& c) {
             return rule.holds(RecurrentShape(sizes, values_of(c)), target);
           }});
    return space;
  }

  Config make_default_config() const override {
    const RecurrentValues& v = fastest_;
    return {{"rows", v.rows},
            {"threads", v.threads},
            {"shares", v.shares},
            {"thread_columns", v.thread_columns},
            {"thread_rows", v.thread_rows},
            {"weights", v.weights}};
  }

  CostModel make_cost_model() const override {
    struct Owned {
      Target target;
      std::optional<RecurrentModel> model;
    };
    const auto owned = std::make_shared<Owned>(Owned{target(), {}});
    owned->model.emplace(region(), *plan_, owned->target);
    return [owned, sizes = plan_->sizes](const Config& c) {
      return owned->model->seconds(RecurrentShape(sizes, values_of(c)));
    };
  }

  KernelSequence lower(const Config& config) const override {
    const RecurrentPlan& plan = *plan_;
    const ir::RecurrentSteps& sizes = plan.sizes;
    const RecurrentShape s(sizes, values_of(config));
    Kernel kernel = start_kernel(region());
    kernel.source = "recurrent";
    kernel.workgroup = static_cast<int>(s.threads);
    kernel.grid = s.workgroups;
    // Vulkan's is an array of the source.
    if (target().api == exec::Api::cuda) kernel.shared_bytes = s.shared_bytes();
    kernel.flops = 2.0 * number(sizes.steps * sizes.batch * sizes.directions) *
                   number(sizes.gates * sizes.hidden * sizes.hidden);
    kernel.defines = recurrent_defines(plan, {{"EXCHANGE", 0},
                                              {"INITIAL", 0},
                                              {"MATRIX", 0},
                                              {"UNITS", sizes.hidden},
                                              {"PARTS", 1},
                                              {"ROWS", s.rows},
                                              {"GROUPS", s.groups},
                                              {"SHARES", s.shares},
                                              {"THREAD_COLUMNS", s.thread_columns},
                                              {"THREAD_ROWS", s.thread_rows},
                                              {"WEIGHTS", s.weights}});
    const RecurrentHooks hooks(region(), plan);
    kernel.hooks = {hooks.load_x(), hooks.load_w(),     hooks.initial(),
                    hooks.cell(),   hooks.store_last(), hooks.rounded()};
    if (sizes.lengths) kernel.hooks.push_back(hooks.length());
    if (plan.out) kernel.hooks.push_back(hooks.store_out());
    return kernel;
  }

  const std::shared_ptr<const RecurrentPlan> plan_;
  const RecurrentValues fastest_;
};

class RecurrentTemplate : public Template {
 public:
  std::string_view name() const override { return "recurrent"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  bool takes_composites() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<RecurrentPlan> plan = plan_recurrent(region);
    if (!plan) return plan.refusal();
    if (!target.has_device_source("recurrent")) return Refusal{"the target has no such kernels"};
    const std::optional<Fastest> best = fastest(region, *plan, target);
    if (!best)
      return Refusal{str("no workgroup of ", target.id(), " has memory and loops for ",
                         plan->sizes.hidden, " hidden units over ", plan->sizes.steps, " steps")};
    const double apart = unrolled_seconds(*plan, target);
    if (kMargin * best->seconds > apart)
      return Refusal{str("all steps in one kernel take about ", std::lround(best->seconds * 1e6),
                         " us, and steps of their own ", std::lround(apart * 1e6), " us")};
    return std::make_shared<const WholeLayer>(*this, region, target, *std::move(plan),
                                              best->values);
  }
};

const RegisterTemplate<RecurrentTemplate> registered;

}  // namespace
}  // namespace tcc::sched
