// Recurrent layers whose hidden units are shared out among workgroups: a launch for each step
// (`recurrent_steps`), or one for all of them, whose workgroups wait for each other
// (`recurrent_grid`). The loops are backends/device/common/recurrent.inc.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/recurrent_fields.h"
#include "scheduler/templates/recurrent_hooks.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_recurrent_units {
namespace {

constexpr int64_t kChunk = 4;           // neighbouring weights of a column that a thread takes
constexpr int64_t kTile = 16;           // columns of a matrix product
constexpr int64_t kBlock = 32;          // of k, of two matrix products
constexpr int64_t kCounterStride = 32;  // words between counters of arrivals
constexpr int64_t kMostRegisters = 255;
constexpr int64_t kMostKept = 128;         // weights in the registers of a thread, of FMAs
constexpr int64_t kMostHalvings = 2 * 10;  // of a workgroup's threads, when they join two ranges
constexpr int64_t kMostItems = 8;          // elements of the state whose projection a thread holds
// An unrolled layer takes compile time and memory for each step: these may take so much longer,
// over the launches of a step. Steps of two have as many launches as unrolled ones (on an H200, 64
// steps of 512 f32 units and 8 rows take 633 us, and unrolled 395).
constexpr double kMayLoseBy = 2;
// A config's values.
struct UnitsValues : RecurrentValues {
  int64_t units, matrix;

  // Threads have whole rows; of matrix units there is one form.
  bool are_whole() const {
    return matrix ? rows % 8 == 0 && shares == 1 && thread_columns == 1 && thread_rows == 1
                  : rows % thread_rows == 0;
  }
  // Weights are read at each launch, or stay on the chip.
  bool have_their_weights(Exchange exchange) const {
    if (exchange == kByLaunch) return weights == kInMemory;
    return matrix ? weights == kInRegisters : weights != kInMemory;
  }
};

double number(int64_t value) { return static_cast<double>(value); }

// The sizes that follow from them, as the device source has them.
struct UnitsShape : UnitsValues {
  UnitsShape(const RecurrentPlan& plan, Exchange form, const Target& target,
             const UnitsValues& values)
      : UnitsValues(values),
        sizes(plan.sizes),
        is_quantized(plan.is_quantized()),
        products(plan.products()),
        first_gates(plan.first_gates),
        exchange(form),
        steps(sizes.steps.usual()),
        groups(ceil_div(sizes.batch.usual(), rows)),
        parts(ceil_div(sizes.hidden, units)),
        workgroups(sizes.directions * groups * parts),
        columns(sizes.gates * units),
        items(ceil_div(units * rows, threads)),
        width(round_up(sizes.hidden, matrix ? kBlock : kChunk)) {
    if (matrix) {
      warps = threads / 32;
      tiles_m = ceil_div(columns, kTile);
      tiles_n = std::max<int64_t>(1, rows / 8);
      blocks = ceil_div(sizes.hidden, kBlock);
      warp_blocks = ceil_div(blocks, std::max<int64_t>(warps, 1));
      together = std::clamp<int64_t>(16 / tiles_n, 1, warp_blocks);
      const int64_t all = std::min(kMostRegisters, target.registers_per_unit / threads);
      const int64_t kept = std::max<int64_t>(0, all - other_registers()) / (8 * warp_blocks);
      kept_tiles = weights == kInMemory ? 0 : std::min(kept, tiles_m);
    } else {
      threads_r = rows / thread_rows;
      threads_c = threads / (threads_r * shares);
      tiles = threads_c == 0 ? 0 : ceil_div(columns, threads_c * thread_columns);
      thread_chunks = ceil_div(ceil_div(sizes.hidden, kChunk), shares);
    }
  }

  // Layers of few columns leave threads idle.
  bool is_least() const {
    return units >= sizes.hidden && threads == 32 && thread_columns == 1 && thread_rows == 1;
  }
  bool is_shared_out() const {
    if (matrix) return warps <= power_of_two_at_least(blocks);
    return threads_c > 0 && shares <= power_of_two_at_least(ceil_div(sizes.hidden, kChunk)) &&
           (is_least() || threads_c * thread_columns < 2 * std::max(columns, thread_columns));
  }
  int64_t kept() const {
    return !matrix && weights == kInRegisters ? thread_chunks * kChunk * thread_columns : 0;
  }
  int64_t all_chunks() const { return thread_chunks * shares; }
  int64_t shared_bytes() const {
    const int64_t states = exchange == kByLaunch ? 0 : sizes.states * items * threads;
    const int64_t ranges = is_quantized ? 2 * threads : 0;
    if (matrix) {
      const int64_t sums = warps * rows * (tiles_m * kTile + 4);
      const int64_t tiles_shared = weights == kInMemory ? 0 : tiles_m - kept_tiles;
      return 4 * (round_up(sums + states, 4) + tiles_shared * blocks * 256);
    }
    return 4 * (round_up(shares * rows * columns + states, 4) + rows * (all_chunks() * kChunk + 4) +
                (weights == kInShared ? all_chunks() * kChunk * columns : 0) + ranges);
  }
  int64_t registers() const {
    if (matrix) return other_registers() + kept_tiles * warp_blocks * 8;
    return 48 + kept() + thread_columns * (thread_rows + kChunk) + kChunk + 3 * sizes.gates +
           (exchange == kByWaiting ? held() : 0);
  }
  // The columns of a product begin and end here.
  int64_t from(int64_t product) const { return product == 0 ? 0 : first_gates * units; }
  int64_t to(int64_t product) const {
    return product + 1 == products ? columns : first_gates * units;
  }
  // Tiles that a product multiplies: of a warp's matrices, or of the threads' columns.
  int64_t tiles_of(int64_t product) const {
    const int64_t tile = matrix ? kTile : threads_c * thread_columns;
    return ceil_div(to(product), tile) - from(product) / tile;
  }
  SymInt grid_groups() const { return sizes.directions * ir::ceildiv(sizes.batch, rows); }
  SymInt grid() const { return grid_groups() * parts; }
  // Loop iterations of a thread over so many steps of one launch, unrolled ones included.
  SymInt iterations(const SymInt& all_steps) const {
    const int64_t per_thread = thread_chunks * kChunk;
    const int64_t product =
        per_thread * (1 + 3 * thread_columns + thread_rows * (2 + 2 * thread_columns)) +
        3 * thread_columns * (1 + thread_rows);
    const int64_t fill = ceil_div(rows * all_chunks(), threads) * (1 + 3 * kChunk);
    const int64_t item = 1 + shares * (1 + sizes.gates) + sizes.gates + 6 * sizes.states;
    const SymInt range =
        is_quantized ? ir::ceildiv(grid(), threads) * 4 + (kMostHalvings + 8) : SymInt(0);
    return all_steps * (range + 1 + fill + tiles * (1 + product) + 2 * items * item);
  }

  const ir::RecurrentSteps& sizes;
  bool is_quantized;
  int64_t products, first_gates;  // of a step
  Exchange exchange;
  // Sizes that come at run time count as the usual ones.
  int64_t steps, groups, parts, workgroups, columns, items, width;
  // With FMAs.
  int64_t threads_r = 0, threads_c = 0, tiles = 0, thread_chunks = 0;
  // With matrix units.
  int64_t warps = 0, tiles_m = 0, tiles_n = 0, blocks = 0, warp_blocks = 0, together = 0,
          kept_tiles = 0;

 private:
  // Registers that hold the projection's part, the row's length, and products of the first gates.
  int64_t held() const { return items * (sizes.gates + 1 + (products > 1 ? first_gates : 0)); }
  int64_t other_registers() const {
    return 48 + tiles_m * tiles_n * 4 + together * tiles_n * 4 + 8 +
           (exchange == kByWaiting ? held() : 3 * sizes.gates);
  }
};

struct UnitsCase {
  using Values = UnitsValues;
  using Shape = UnitsShape;
  Values values() const { return {}; }
  Shape shape(const Values& values) const { return {plan, exchange, target, values}; }

  RecurrentPlan plan;
  Exchange exchange;
  Target target;
};

constexpr Rule<UnitsValues, UnitsCase> kValueRules[] = {
    {"threads have whole rows, and matrix units one form of sharing",
     [](const auto& v, const auto&) { return v.are_whole(); }},
    {"weights are read at each launch, or stay on the chip",
     [](const auto& v, const auto& of) { return v.have_their_weights(of.exchange); }},
    {"matrix units are those of a warp, and multiply the weights' type",
     [](const auto& v, const auto& of) {
       const DType dtype = of.plan.dtype;
       return !v.matrix || (v.threads % 32 == 0 && dtype != DType::f32 &&
                            of.target.multiplies("mma", dtype, dtype, DType::f32));
     }},
    {"weights on matrix units are no quantized integers",
     [](const auto& v, const auto& of) { return !v.matrix || !of.plan.is_quantized(); }},
    {"a workgroup has no more threads than the device allows",
     [](const auto& v, const auto& of) { return v.threads <= of.target.max_workgroup_size; }},
    {"fewer than twice the batch's rows, and than twice the hidden units",
     [](const auto& v, const auto& of) {
       const ir::RecurrentSteps& sizes = of.plan.sizes;
       return (v.rows < 2 * sizes.batch.range().hi || (v.matrix && v.rows == 8)) &&
              v.units < 2 * sizes.hidden;
     }},
};
constexpr Rule<UnitsShape, UnitsCase> kRules[] = {
    {"threads share out columns and sums, and of more than 32 few are idle for want of them",
     [](const auto& s, const auto&) { return s.is_shared_out(); }},
    {"workgroups that wait for each other have a unit each",
     [](const auto& s, const auto& of) {
       return s.exchange == kByLaunch ||
              (s.grid().range().hi <= of.target.compute_units && s.items <= kMostItems);
     }},
    {"weights in registers are those of one tile, and few",
     [](const auto& s, const auto&) {
       return s.matrix || s.weights != kInRegisters || (s.tiles == 1 && s.kept() <= kMostKept);
     }},
    {"sums are few",
     [](const auto& s, const auto&) {
       return s.thread_columns * s.thread_rows <= 32 && s.tiles_m * s.tiles_n <= 24;
     }},
    {"the registers of a unit suffice",
     [](const auto& s, const auto& of) {
       return of.target.indexed_registers ||
              (s.registers() <= kMostRegisters &&
               s.registers() * s.threads <= of.target.registers_per_unit);
     }},
    {"the states, the sums and the weights fit into shared memory",
     [](const auto& s, const auto& of) { return s.shared_bytes() <= of.target.shared_bytes; }},
    {"loops are as short as the device allows",
     [](const auto& s, const auto& of) {
       return of.target.max_loop_iterations == 0 ||
              s.iterations(1).range().hi <= of.target.max_loop_iterations;
     }},
};

using UnitsRules = RuleSpace<UnitsCase>;

std::vector<Field<UnitsValues>> all_fields() {
  using V = UnitsValues;
  std::vector<Field<V>> fields = {
      {"rows", {1, 2, 4, 8, 16, 32, 64}, "rows of the batch that a workgroup has", &V::rows},
      {"units", {1, 2, 4, 8, 12, 16, 24, 32}, "hidden units that it has", &V::units},
      {"threads", {32, 64, 128, 256, 512}, "threads of a workgroup", &V::threads},
      {"matrix", {0, 1}, "products are of FMAs (0) or of matrix units (1)", &V::matrix}};
  for (Field<V>& field :
       sharing_fields<V>("a sum of FMAs",
                         "; of matrix units, what exceeds the registers (1) is in shared memory"))
    fields.push_back(std::move(field));
  return fields;
}

UnitsRules rules_of(RecurrentPlan plan, Exchange exchange, const Target& target) {
  return {std::make_shared<const UnitsCase>(std::move(plan), exchange, target), all_fields(),
          kValueRules, kRules};
}

// Predicts the seconds of a shape.
class UnitsModel {
 public:
  UnitsModel(const Region& region, const UnitsCase& of)
      : target_(of.target),
        slots_(cell_slots(region, of.plan)),
        bytes_(region_bytes(region)),
        element_(size_bytes(of.plan.dtype)),
        weight_(size_bytes(of.plan.sizes.weight->dtype())) {}

  double seconds(const UnitsShape& s) const {
    const bool waits = s.exchange == kByWaiting;
    double step = 0;
    for (int64_t product = 0; product < s.products; ++product)
      step += waits ? exchanged_seconds(s, product) : predicted_seconds(step_cost(s), target_);
    const double steps = number(s.steps);
    if (!waits) return steps * step;
    const double all = number(s.workgroups * s.columns * s.sizes.hidden) * weight_;
    return launch_seconds(target_) + all / cache_bandwidth(target_) +
           std::max(steps * step, bytes_ / target_.bandwidth);
  }

 private:
  // One product of a step between two waits. A unit has one workgroup, and nothing hides the
  // latencies of its phases, which follow one another: h comes, threads multiply it, sums meet, and
  // a cell's result is stored. The constants are a least-squares fit to 857 configs of lstm and gru
  // of 512 bf16 units and of 1 and 16 rows on an H200 at 1.98 GHz, and in cycles but for the first.
  double exchanged_seconds(const UnitsShape& s, int64_t product) const {
    constexpr double kExchange = 1.27e-6;  // seconds: results are stored, seen, and h is loaded
    constexpr double kArrival = 2.5;       // a workgroup counts itself in the last-level cache
    constexpr double kElement = 250;       // an element of the state, of a thread
    constexpr double kSum = 15;            // a share of a sum comes from shared memory
    constexpr double kIssue = 1.12;        // an instruction of a warp, or its access
    // With FMAs: a thread's elements of h go to shared memory, and it waits for each of them there.
    constexpr double kFill = 180, kChain = 2.5;
    // With matrix units: a product of a warp on its quarter of the unit, and a warp's read of h.
    constexpr double kProduct = 26, kRead = 38;
    const double warps = number(ceil_div(s.threads, 32)), quarter = std::max(1.0, warps / 4),
                 tiles = number(s.tiles_of(product));
    double cycles = kArrival * number(s.workgroups) + kElement * number(s.items) +
                    kSum * number(s.items * (s.matrix ? s.warps : s.shares));
    if (s.matrix) {
      const double blocks = number(s.warp_blocks), reads = blocks * number(s.tiles_n),
                   shared = tiles * number(s.tiles_m - s.kept_tiles) / number(s.tiles_m);
      cycles += quarter * tiles * reads * 2 * kProduct + reads * kRead;
      cycles += kIssue * warps * shared * blocks * 4;
    } else {
      const double chunks = tiles * number(s.thread_chunks * kChunk), rows = number(s.thread_rows),
                   columns = number(s.thread_columns);
      cycles += kFill * number(ceil_div(s.rows * s.all_chunks(), s.threads));
      cycles += chunks * (kChain + quarter * columns * rows * kIssue);
      cycles += kIssue * warps * chunks * (rows / 4 + (s.weights == kInShared ? columns : 0));
    }
    const double h = number(s.workgroups * s.rows * s.width) * element_;
    return kExchange + cycles / target_.clock() + h / cache_bandwidth(target_);
  }

  // One product of a step as a launch, which reads the weights. It waits as long as the one before
  // it, and counts as a whole step.
  LaunchCost step_cost(const UnitsShape& s) const {
    const double threads = number(s.threads * s.workgroups), gates = number(s.sizes.gates);
    const double items = number(s.items), states = number(s.sizes.states);
    LaunchCost cost;
    cost.threads = number(s.threads);
    cost.workgroups = number(s.workgroups);
    cost.shared_bytes = number(s.shared_bytes());
    cost.registers = number(s.registers());
    const double sums = items * number(s.matrix ? s.warps : s.shares) * gates;
    const double own = items * (gates + states * 2 + 2);
    double slots = items * (slots_ + 40) + sums + 20, accesses = sums + own, elements = accesses;
    if (s.matrix) {
      // A product of a warp takes 8 cycles of a quarter of the unit.
      const double products = number(s.tiles_m * s.tiles_n * s.warp_blocks * 2);
      const double tiles = number(s.tiles_m * s.warp_blocks);
      slots += 8 * products + number(s.warp_blocks * s.tiles_n) * 4 + 48 * tiles;
      accesses += number(s.warp_blocks * s.tiles_n) + 4 * tiles + number(s.tiles_m * s.tiles_n * 4);
    } else {
      const double chunks = number(s.tiles * s.thread_chunks * kChunk);
      const double weights = chunks * number(s.thread_columns);
      const double rows = chunks * number(s.thread_rows);
      const double fill = number(ceil_div(s.rows * s.all_chunks(), s.threads) * (kChunk + 1));
      slots += weights * number(s.thread_rows);
      accesses += 0.25 * weights + rows + fill;
      elements += weights + rows + 2 * fill;
    }
    cost.arithmetic = threads * slots;
    cost.accesses = threads * accesses;
    cost.elements = threads * elements;
    const double h = number(s.workgroups * s.rows * s.width) * element_;
    const double weights = number(s.workgroups * s.columns * s.sizes.hidden) * weight_;
    const double projected = bytes_ / number(s.steps);
    cost.memory_bytes = projected;
    cost.cache_bytes = projected + h + weights;
    cost.bytes_in_flight = 64;
    cost.round_trips = 2;
    cost.stalls = 1;
    cost.barriers = 2 - (s.matrix ? 1 : 0);
    if (s.is_quantized) {
      // Ranges are joined twice; each element of h is divided and rounded.
      const double fill = number(ceil_div(s.rows * s.all_chunks(), s.threads) * kChunk);
      const double joins =
          number(ceil_div(s.workgroups, s.threads)) + 2 * std::log2(number(s.threads));
      cost.arithmetic += threads * (16 * fill + 4 * joins);
      cost.accesses += threads * 2 * joins;
      cost.elements += threads * 2 * joins;
      cost.barriers += 2 + 2 * std::log2(number(s.threads));
      cost.round_trips += 1;
    }
    cost.parallelism = s.matrix ? 4 : std::min(8.0, number(s.thread_columns * s.thread_rows) + 1);
    return cost;
  }

  Target target_;
  double slots_, bytes_, element_, weight_;
};

class SharedLayer : public RuledCandidate<UnitsCase> {
 public:
  SharedLayer(const Template& by, const Region& region, const Target& target, UnitsRules rules,
              const UnitsValues& fastest)
      : RuledCandidate(by, region, target, std::move(rules)), fastest_(fastest) {}

 private:
  Config make_default_config() const override { return rules().config(fastest_); }
  ShapeModel shape_model() const override {
    return [model = UnitsModel(region(), rules().of())](const UnitsShape& s) {
      return model.seconds(s);
    };
  }

  KernelSequence lower(const Config& config) const override {
    RecurrentPlan plan = rules().of().plan;
    const ir::RecurrentSteps& sizes = plan.sizes;
    const UnitsShape s = rules().shape(config);
    const bool waits = s.exchange == kByWaiting;
    if (s.matrix) plan.w_vector = std::gcd<int64_t>(sizes.hidden, 8);
    // The initial states are the last ones where there are no steps.
    const bool is_begun =
        std::ranges::any_of(sizes.initial, [](auto* v) { return v; }) || sizes.steps.range().lo < 1;

    KernelSequence sequence;
    Kernel kernel = start_kernel(region());
    const auto first = static_cast<int>(kernel.arguments.size());
    RecurrentMemory memory;
    memory.rows = ir::ceildiv(sizes.batch, s.rows) * s.rows;
    memory.width = s.width;
    const auto add = [&](const char* name, DType dtype, const SymInt& elements, bool zeroed) {
      sequence.workspaces.push_back({name, dtype, elements, zeroed});
      Argument argument{dtype, Argument::Access::read_write, elements, 16};
      argument.needed = 16;
      kernel.arguments.push_back(argument);
      return first + static_cast<int>(sequence.workspaces.size()) - 1;
    };
    memory.h = add("h", plan.dtype, memory.h_elements(plan), true);
    int counters = -1;
    if (waits)
      counters = add("arrivals", DType::i32, s.grid_groups() * kCounterStride, true);
    else
      memory.states = add("states", DType::f32,
                          sizes.batch * (sizes.directions * sizes.hidden * sizes.states), true);
    const bool has_second = plan.products() > 1;
    if (has_second && !waits)
      memory.gates = add("gates", DType::f32,
                         sizes.batch * (sizes.directions * sizes.hidden * plan.first_gates), true);

    if (plan.is_quantized()) {
      memory.workgroups = s.grid();
      memory.ranges = add("ranges", DType::f32, s.grid() * 4, true);
    }

    kernel.source = "recurrent";
    kernel.workgroup = static_cast<int>(s.threads);
    kernel.grid = s.grid();
    kernel.cooperative = waits;
    kernel.numbered = !waits;
    if (waits) kernel.resident = 1;
    // Static, in the source, where targets have no other.
    if (target().declared_shared_bytes > 0) kernel.shared_bytes = s.shared_bytes();
    const SymInt launches = waits ? SymInt(1) : sizes.steps * plan.products() + (is_begun ? 1 : 0);
    // The mean of the launches.
    const SymInt count = ir::max(launches, 1);
    kernel.flops = {2 * number(sizes.directions * sizes.gates * sizes.hidden),
                    ir::floordiv(sizes.steps * sizes.batch * sizes.hidden, count)};
    kernel.bytes.count = ir::floordiv(kernel.bytes.count, count);
    if (!kernel.sizes.empty())
      kernel.loop_iterations = s.iterations(waits ? sizes.steps * plan.products() : SymInt(1));
    define_recurrent(kernel, plan, s.rows,
                     {{"EXCHANGE", s.exchange},
                      {"INITIAL", is_begun},
                      {"MATRIX", s.matrix},
                      {"UNITS", s.units},
                      {"PARTS", s.parts},
                      {"WEIGHTS", s.weights}});
    const auto define = [&](const char* name, int64_t value) {
      kernel.defines.emplace_back(name, std::to_string(value));
    };
    if (s.matrix) {
      define("BF16", plan.dtype == DType::bf16);
      define("WIDTH_H", s.width);
      define("TOGETHER", s.together);
      define("KEPT_TILES", s.kept_tiles);
      kernel.defines.emplace_back("EXCHANGED", str("b", memory.h));
      kernel.flop_rate = target().flops_matrix;
    } else {
      define("SHARES", s.shares);
      define("THREAD_COLUMNS", s.thread_columns);
      define("THREAD_ROWS", s.thread_rows);
    }
    if (waits) kernel.defines.emplace_back("COUNTERS", str("b", counters));

    const RecurrentHooks hooks(region(), plan, memory);
    kernel.hooks = {hooks.load_x(), hooks.load_w(), hooks.cell(), hooks.store_last(),
                    hooks.store_h()};
    if (!s.matrix) kernel.hooks.push_back(hooks.load_h());
    if (is_begun) kernel.hooks.push_back(hooks.initial());
    if (sizes.lengths) kernel.hooks.push_back(hooks.length());
    if (plan.out) kernel.hooks.push_back(hooks.store_out());
    if (!waits) {
      kernel.hooks.push_back(hooks.load_states());
      kernel.hooks.push_back(hooks.store_states());
    }
    if (has_second) {
      kernel.hooks.push_back(hooks.multiplied());
      if (!waits) {
        kernel.hooks.push_back(hooks.load_gates());
        kernel.hooks.push_back(hooks.store_gates());
      }
    }
    if (plan.is_quantized())
      kernel.hooks.insert(kernel.hooks.end(),
                          {hooks.load_range(), hooks.store_range(), hooks.joined(),
                           hooks.quantization(), hooks.quantized()});
    std::vector<int> buffers(kernel.arguments.size());
    std::iota(buffers.begin(), buffers.end(), 0);
    sequence.launches.push_back({std::move(kernel), std::move(buffers), launches});
    return sequence;
  }

  const UnitsValues fastest_;
};

class UnitsTemplate : public Template {
 public:
  explicit UnitsTemplate(Exchange exchange) : exchange_(exchange) {}
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  bool takes_composites() const override { return true; }
  // Steps and rows of the batch may be open.
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<RecurrentPlan> plan = plan_recurrent(region);
    if (!plan) return plan.refusal();
    if (!has_device_source(target, "recurrent")) return lacks_source(target, "recurrent");
    if (exchange_ == kByWaiting && plan->is_quantized())
      return Refusal{
          "each step quantizes h by the range of all of it, and workgroups wait for those "
          "of their rows alone"};
    if (exchange_ == kByWaiting && !target.cooperative_launches)
      return Refusal{str("workgroups wait for each other, and ", target.id(),
                         " does not promise to run all of them at once")};
    if (exchange_ == kByLaunch && plan->sizes.steps.range().lo > kMostLaunches / plan->products())
      return Refusal{str(plan->sizes.steps, " steps are too many")};
    const int64_t launches = exchange_ == kByLaunch ? plan->products() : 1;  // of a step, at most
    const double apart = unrolled_seconds(*plan, target),
                 most = kMayLoseBy / number(launches) * apart;
    UnitsRules rules = rules_of(*std::move(plan), exchange_, target);
    const UnitsModel model(region, rules.of());
    const auto best = rules.fastest([&](const UnitsShape& s) { return model.seconds(s); });
    const ir::RecurrentSteps& sizes = rules.of().plan.sizes;
    if (!best)
      return Refusal{str("the weights of ", sizes.hidden, " hidden units and ", sizes.directions,
                         sizes.directions > 1 ? " directions" : " direction",
                         " do not fit the workgroups of ", target.id())};
    // Steps whose number comes at run time cannot be unrolled.
    if (sizes.steps.is_const() && best->cost > most)
      return Refusal{str("its steps take about ", std::lround(best->cost * 1e6),
                         " us, and those of an unrolled layer ", std::lround(apart * 1e6), " us")};
    return std::make_shared<const SharedLayer>(*this, region, target, std::move(rules),
                                               best->values);
  }

 private:
  static constexpr int64_t kMostLaunches = 1 << 16;
  const Exchange exchange_;
};

class RecurrentSteps final : public UnitsTemplate {
 public:
  RecurrentSteps() : UnitsTemplate(kByLaunch) {}
  std::string_view name() const override { return "recurrent_steps"; }
};

class RecurrentGrid final : public UnitsTemplate {
 public:
  RecurrentGrid() : UnitsTemplate(kByWaiting) {}
  std::string_view name() const override { return "recurrent_grid"; }
};

const RegisterTemplate<RecurrentSteps> registered_steps;
const RegisterTemplate<RecurrentGrid> registered_grid;

}  // namespace
}  // namespace tcc::sched::template_recurrent_units
