// All steps of a recurrent layer as one kernel: the loops are backends/device/common/recurrent.inc.
#include <algorithm>
#include <cmath>
#include <memory>

#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/recurrent_fields.h"
#include "scheduler/templates/recurrent_hooks.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_recurrent {
namespace {

constexpr int64_t kChunk = 4;  // neighbouring weights of a column that a thread takes at once
// Estimates of GPUs were not compared with measurements: one kernel must win by so much.
constexpr double kMustWinBy = 1.3;
constexpr int64_t kMostKept = 128;  // weights in the registers of a thread

// The sizes that follow from a config's values, as the device source has them.
struct RecurrentShape : RecurrentValues {
  RecurrentShape(const RecurrentPlan& plan, const RecurrentValues& values)
      : RecurrentShape(plan.sizes, plan.products(), values) {}
  RecurrentShape(const ir::RecurrentSteps& sizes, int64_t all_products,
                 const RecurrentValues& values)
      : RecurrentValues(values),
        hidden(sizes.hidden),
        steps(sizes.steps.usual()),
        gates(sizes.gates),
        states(sizes.states),
        products(all_products),
        groups(ceil_div(sizes.batch.usual(), rows)),
        workgroups(sizes.directions * groups),
        columns(gates * hidden),
        threads_r(rows / thread_rows),
        threads_c(threads / (threads_r * shares)),
        tiles(threads_c == 0 ? 0 : ceil_div(columns, threads_c * thread_columns)),
        thread_chunks(ceil_div(ceil_div(hidden, kChunk), shares)),
        chunks(thread_chunks * shares),
        items(ceil_div(hidden * rows, threads)) {}

  // Layers of few columns leave threads idle.
  bool is_least() const { return threads == 32 && thread_columns == 1 && thread_rows == 1; }
  bool is_shared_out() const {
    return threads_c > 0 && shares <= power_of_two_at_least(ceil_div(hidden, kChunk)) &&
           (is_least() || threads_c * thread_columns < 2 * std::max(columns, thread_columns));
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
  // Loop iterations of a thread over so many steps, unrolled ones included.
  SymInt iterations(const SymInt& all_steps) const {
    const int64_t parts = thread_chunks * kChunk;  // vectors may be of one weight
    const int64_t product =
        parts * (1 + 3 * thread_columns + thread_rows * (2 + 2 * thread_columns)) +
        3 * thread_columns * (1 + thread_rows);
    const int64_t item = 1 + shares * (1 + gates) + gates + 6 * states;
    const int64_t fill = ceil_div(rows * (chunks * kChunk + 4), threads) * (1 + states) +
                         items * (1 + 2 * states) +
                         (weights == kInMemory ? 0 : 4 * ceil_div(weight_words(), threads) * 4);
    // A tile may have columns of both products.
    const int64_t all_tiles = tiles + products - 1;
    return all_steps * (1 + all_tiles * (1 + product) + products * items * item) + fill;
  }

  int64_t hidden, steps, gates, states;  // sizes that come at run time are the usual ones
  int64_t products;                      // of a step
  int64_t groups, workgroups, columns;
  // Threads along the rows and the columns; columns are so many tiles.
  int64_t threads_r, threads_c, tiles;
  int64_t thread_chunks, chunks, items;
};

struct RecurrentCase {
  using Values = RecurrentValues;
  using Shape = RecurrentShape;
  Values values() const { return {}; }
  Shape shape(const Values& values) const { return {plan, values}; }

  RecurrentPlan plan;
  Target target;
};

constexpr Rule<RecurrentValues, RecurrentCase> kValueRules[] = {
    {"threads have whole rows",
     [](const auto& v, const auto&) { return v.rows % v.thread_rows == 0; }},
    {"a workgroup has no more threads than the device allows",
     [](const auto& v, const auto& of) { return v.threads <= of.target.max_workgroup_size; }},
    {"fewer than twice the batch's rows",
     [](const auto& v, const auto& of) { return v.rows < 2 * of.plan.sizes.batch.range().hi; }},
    {"sums are few",
     [](const auto& v, const auto&) { return v.thread_columns * v.thread_rows <= 32; }},
};
constexpr Rule<RecurrentShape, RecurrentCase> kRules[] = {
    {"threads share out columns and sums, and of more than 32 few are idle for want of them",
     [](const auto& s, const auto&) { return s.is_shared_out(); }},
    {"weights in registers are those of one tile, and few",
     [](const auto& s, const auto&) {
       return s.weights != kInRegisters || (s.tiles == 1 && s.kept() <= kMostKept);
     }},
    {"the registers of a unit suffice",
     [](const auto& s, const auto& of) {
       return of.target.indexed_registers ||
              s.registers() * s.threads <= of.target.registers_per_unit;
     }},
    {"the states, the sums and the weights fit into shared memory",
     [](const auto& s, const auto& of) { return s.shared_bytes() <= of.target.shared_bytes; }},
    {"loops are as short as the device allows",
     [](const auto& s, const auto& of) {
       return of.target.max_loop_iterations == 0 ||
              s.iterations(of.plan.sizes.steps).range().hi <= of.target.max_loop_iterations;
     }},
};

using RecurrentRules = RuleSpace<RecurrentCase>;

std::vector<Field<RecurrentValues>> all_fields() {
  using V = RecurrentValues;
  std::vector<Field<V>> fields = {
      {"rows", {1, 2, 4, 8, 16}, "rows of the batch that a workgroup has", &V::rows},
      {"threads", {32, 64, 128, 256, 512}, "threads of a workgroup", &V::threads}};
  for (Field<V>& field : sharing_fields<V>("a sum")) fields.push_back(std::move(field));
  return fields;
}

RecurrentRules rules_of(RecurrentPlan plan, const Target& target) {
  return {std::make_shared<const RecurrentCase>(std::move(plan), target), all_fields(), kValueRules,
          kRules};
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
    cost.barriers = 2 * number(s.products) * steps + 1;
    cost.parallelism = std::min(8.0, number(s.thread_columns * s.thread_rows) + 1);
    return predicted_seconds(cost, target_);
  }

 private:
  Target target_;
  double slots_, bytes_, element_;
};

class WholeLayer : public RuledCandidate<RecurrentCase> {
 public:
  WholeLayer(const Template& by, const Region& region, const Target& target, RecurrentRules rules,
             const RecurrentValues& fastest)
      : RuledCandidate(by, region, target, std::move(rules)), fastest_(fastest) {}

 private:
  Config make_default_config() const override { return rules().config(fastest_); }
  ShapeModel shape_model() const override {
    return [model = RecurrentModel(region(), rules().of().plan, target())](
               const RecurrentShape& s) { return model.seconds(s); };
  }

  KernelSequence lower(const Config& config) const override {
    const RecurrentPlan& plan = rules().of().plan;
    const ir::RecurrentSteps& sizes = plan.sizes;
    const RecurrentShape s = rules().shape(config);
    Kernel kernel = start_kernel(region());
    kernel.source = "recurrent";
    kernel.workgroup = static_cast<int>(s.threads);
    kernel.grid = sizes.directions * ir::ceildiv(sizes.batch, s.rows);
    // Static, in the source, where targets have no other.
    if (target().declared_shared_bytes > 0) kernel.shared_bytes = s.shared_bytes();
    kernel.flops = {2 * number(sizes.directions * sizes.gates * sizes.hidden * sizes.hidden),
                    sizes.steps * sizes.batch};
    if (!kernel.sizes.empty()) kernel.loop_iterations = s.iterations(sizes.steps);
    define_recurrent(kernel, plan, s.rows,
                     {{"EXCHANGE", kAlone},
                      {"INITIAL", false},
                      {"MATRIX", false},
                      {"UNITS", sizes.hidden},
                      {"PARTS", 1},
                      {"SHARES", s.shares},
                      {"THREAD_COLUMNS", s.thread_columns},
                      {"THREAD_ROWS", s.thread_rows},
                      {"WEIGHTS", s.weights}});
    const RecurrentHooks hooks(region(), plan);
    kernel.hooks = {hooks.load_x(), hooks.load_w(),     hooks.initial(),
                    hooks.cell(),   hooks.store_last(), hooks.rounded()};
    if (plan.products() > 1) kernel.hooks.push_back(hooks.multiplied());
    if (sizes.lengths) kernel.hooks.push_back(hooks.length());
    if (plan.out) kernel.hooks.push_back(hooks.store_out());
    return kernel;
  }

  const RecurrentValues fastest_;
};

class RecurrentTemplate : public Template {
 public:
  std::string_view name() const override { return "recurrent"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  bool takes_composites() const override { return true; }
  // Steps and rows of the batch may be open.
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<RecurrentPlan> plan = plan_recurrent(region);
    if (!plan) return plan.refusal();
    if (plan->is_quantized())
      return Refusal{
          "each step quantizes h by the range of all of it, and workgroups with rows of "
          "their own have none of the others'"};
    if (!has_device_source(target, "recurrent")) return lacks_source(target, "recurrent");
    const RecurrentModel model(region, *plan, target);
    const double apart = unrolled_seconds(*plan, target);
    RecurrentRules rules = rules_of(*std::move(plan), target);
    const auto best = rules.fastest([&](const RecurrentShape& s) { return model.seconds(s); });
    const ir::RecurrentSteps& sizes = rules.of().plan.sizes;
    if (!best)
      return Refusal{str("no workgroup of ", target.id(), " has memory and loops for ",
                         sizes.hidden, " hidden units over ", sizes.steps, " steps")};
    // Steps whose number comes at run time cannot be unrolled.
    if (sizes.steps.is_const() && kMustWinBy * best->cost > apart)
      return Refusal{str("all steps in one kernel take about ", std::lround(best->cost * 1e6),
                         " us, and steps of their own ", std::lround(apart * 1e6), " us")};
    return std::make_shared<const WholeLayer>(*this, region, target, std::move(rules),
                                              best->values);
  }
};

const RegisterTemplate<RecurrentTemplate> registered;

}  // namespace
}  // namespace tcc::sched::template_recurrent
