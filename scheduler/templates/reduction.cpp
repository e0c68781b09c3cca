// Reductions and normalisations: a group of threads takes a row, reduces it once or several times,
// and writes elements, row results, or both. Where the row fits, what later stages need is kept in
// registers.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "ir/size_range.h"
#include "scheduler/cost.h"
#include "scheduler/legalize.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/reduction_lowering.h"
#include "scheduler/templates/reduction_plan.h"
#include "scheduler/templates/reduction_split.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_reduction {
namespace {

using ir::ReduceKind;

// Elements that one thread keeps in registers, at most.
constexpr int64_t kMaxCached = 64;
// The same, with what is loaded early.
constexpr int64_t kMaxEarly = 96;
// Up to so many, loading early wins by default; beyond, it costs workgroups that run side by side.
constexpr int64_t kFewEarly = 72;

// Threads of a workgroup of a cluster: at most, which have 128 registers each, and at least.
constexpr int64_t kMostClusterThreads = 512, kFewestClusterThreads = 128;
// Registers of a thread beside the columns that it keeps.
constexpr int64_t kOtherRegisters = 24;
// Slots of a pass over a vector that a row is too short for.
constexpr double kUnused = 6;
// A cluster's barrier, in those of a workgroup.
constexpr double kClusterBarriers = 3;
// Lines that a subgroup's elements lie in, where they are no neighbours, in cycles of the pipe.
constexpr double kLinesApart = 16;
// Columns for which a workgroup more is worth its start and the exchange: of a row, and of
// neighbouring rows.
constexpr int64_t kFewestClusterColumns = 4096, kFewestOuterColumns = 256;
// Bytes of neighbouring rows that a workgroup reads at least, and wants to.
constexpr int64_t kSector = 32, kLine = 128;

// Returns the largest number of columns of a row that one workgroup, or the workgroups of a
// cluster, keep in registers.
int64_t most_kept_columns(const Target& target) {
  return target.max_cluster * int64_t{target.registers_per_unit} / 2;
}

// Elements that one thread keeps.
int64_t per_thread(const ReductionPlan& plan, const Config& config) {
  return kept_vectors(plan, config) * config["vector"];
}

// Numbers of vectors that a thread keeps of rows of open length, and the one for a config.
const std::vector<int64_t> kKeptVectors = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
void complete(Config& config, const ReductionPlan& plan) {
  if (plan.columns.is_const() || config.has("kept_vectors")) return;
  const int64_t needed = config["keep"] == 0 ? 0 : most_vectors(plan, config);
  const auto found = std::ranges::lower_bound(kKeptVectors, needed);
  config.set("kept_vectors", found == kKeptVectors.end() ? needed : *found);
}

bool has_full_output(const ReductionPlan& plan) {
  return std::any_of(plan.outputs.begin(), plan.outputs.end(),
                     [](const auto& output) { return output.full; });
}

// Returns whether clusters can share rows: those that one workgroup cannot keep, though it would
// have to read them again, and those that are too few to fill the device.
bool may_cluster(const ReductionPlan& plan, const Target& target) {
  if (target.max_cluster == 1 || !plan.columns.is_const()) return false;
  if (!plan.inner)
    return plan.cols >= 2 * kFewestOuterColumns && plan.rows.usual() < 16 * target.compute_units;
  if (plan.cols < 2 * kFewestClusterColumns) return false;
  const bool again = plan.stages > 1 || has_full_output(plan);
  return plan.rows.usual() < 2 * target.compute_units ||
         (again && plan.cols > target.registers_per_unit / 4);
}

// Threads of which each sums up as few elements of the longest row as a part of a long one has,
// where the row is open; others are split (reduction_split.h). A range without an end counts as far
// beyond the usual size: more threads would idle there.
int64_t threads_of_long_rows(const ReductionPlan& plan, int64_t vector) {
  constexpr int64_t kLongestSum = 512, kFarBeyond = 64;
  if (plan.columns.is_const()) return 1;
  const int64_t longest = std::min(plan.columns.range().hi, kFarBeyond * plan.cols);
  return std::max<int64_t>(1, ceil_div(longest, kLongestSum * vector));
}

bool finds_index(const ReductionPlan& plan) {
  return std::any_of(plan.reductions.begin(), plan.reductions.end(), [](const auto& reduction) {
    return ir::is_arg(*reduction.node->op->reduction);
  });
}

// The element values of the region at (row, col): what is reduced, then the full outputs.
struct Elements {
  Elements(const Region& region, const ReductionPlan& plan)
      : near(SymInt::axis("near", near_extent(plan))),
        far(SymInt::axis("far",
                         floordiv(plan.inner ? plan.columns : plan.rows, near_extent(plan)))),
        across(SymInt::axis("across", plan.inner ? plan.rows : plan.columns)) {
    const SymInt along = far * ir::extent_of(near) + near;
    const SymInt row = plan.inner ? across : along;
    const SymInt col = plan.column(plan.inner ? along : across);
    Inliner inliner(region);
    bind_reductions(inliner, plan, row);
    for (const auto& reduction : plan.reductions)
      reduced.push_back(reduction_body(inliner, reduction, row, col));
    for (const auto& output : plan.outputs) {
      if (!output.full) continue;
      const std::vector<SymInt> base = output_base_index(plan, output, row, col);
      full.push_back(inliner.value_at(output.stored.base, base));
      places.push_back(region.layout(output.value).offset(output.stored.output_index(base)));
    }
  }

  // The axis of neighbours.
  const SymInt& along() const { return near.is_const() ? far : near; }
  // The run of neighbours: the whole where it comes at run time and might be no whole runs.
  static SymInt near_extent(const ReductionPlan& plan) {
    const SymInt& all = plan.inner ? plan.columns : plan.rows;
    const bool is_whole = (plan.inner && all.is_const()) || all.divisible_by(plan.run);
    return is_whole ? SymInt(plan.run) : all;
  }
  // Whether the place depends on where it is among what neighbouring threads take, or in a row.
  bool moves_along(const SymInt& place) const { return uses(place, near) || uses(place, far); }
  bool moves_in_row(const ReductionPlan& plan, const SymInt& place) const {
    return plan.inner ? moves_along(place) : uses(place, across);
  }
  static bool uses(const SymInt& place, const SymInt& axis) {
    return axis.as_atom() && place.uses(axis.as_atom());
  }

  SymInt near, far;  // of what neighbouring threads take: elements of a run, and runs
  SymInt across;     // rows, or columns where neighbouring threads take neighbouring rows
  std::vector<Expr> reduced, full;
  std::vector<SymInt> places;  // of the full outputs
};

// The place as if it went on as it begins, for estimates: neighbours are so but at a few places,
// where a clamp or a remainder takes effect.
SymInt from_start(const SymInt& place, const SymInt& axis) {
  if (!Elements::uses(place, axis)) return place;
  const SymInt first = place.substitute(axis, 0);
  const SymInt step = (place.substitute(axis, 1) - first).substitute([](const ir::AtomPtr& atom) {
    return atom->kind == ir::Atom::Kind::axis ? std::optional<SymInt>(0) : std::nullopt;
  });
  return step.is_const() ? first + axis * step : place;
}

void visit_loads(const std::vector<Expr>& values, const std::function<bool(const SymInt&)>& moves,
                 const std::function<void(const Expr&)>& seen) {
  for (const Expr& value : values)
    ir::visit(value, [&](const Expr& e) {
      if (e->kind == ir::ExprNode::Kind::load && moves(e->index)) seen(e);
    });
}

// Bytes of the widest type that is read at neighbouring places.
int widest_load(const Region& region, const ReductionPlan& plan) {
  const Elements elements(region, plan);
  int bytes = 1;
  for (const auto* values : {&elements.reduced, &elements.full})
    visit_loads(
        *values, [&](const SymInt& place) { return elements.moves_along(place); },
        [&](const Expr& e) { bytes = std::max(bytes, size_bytes(e->stored)); });
  return bytes;
}

// Loads of elements that only the outputs read: a norm's weight and bias.
int64_t late_loads(const Region& region, const ReductionPlan& plan) {
  const Elements elements(region, plan);
  std::set<const ir::ExprNode*> early, late;
  const auto moves = [&](const SymInt& place) { return elements.moves_in_row(plan, place); };
  visit_loads(elements.reduced, moves, [&](const Expr& e) { early.insert(e.get()); });
  visit_loads(elements.full, moves, [&](const Expr& e) {
    if (!early.count(e.get()) && !waits_for_reduction(e)) late.insert(e.get());
  });
  return static_cast<int64_t>(late.size());
}

// Bytes of the region's buffers, each once: of a table that rows are looked up in, no more than
// `elements` for each place that reads it.
double moved_bytes(const Region& region, const std::vector<Expr>& values, double elements) {
  std::map<int, std::set<const ir::ExprNode*>> loads;
  for (const Expr& value : values)
    ir::visit(value, [&](const Expr& e) {
      if (e->kind == ir::ExprNode::Kind::load) loads[e->buffer].insert(e.get());
    });
  double unread = 0;
  for (const auto& [buffer, places] : loads) {
    const ir::Value* input = region.inputs[static_cast<size_t>(buffer)];
    const auto stored = static_cast<double>(region.layout(input).elements.usual());
    const double read = elements * static_cast<double>(places.size());
    unread += std::max(0.0, stored - read) * size_bytes(input->dtype());
  }
  return region_bytes(region) - unread;
}

int64_t widest_result(const ReductionPlan& plan) {
  int64_t bytes = 4;
  for (const auto& reduction : plan.reductions)
    bytes = std::max<int64_t>(bytes, size_bytes(reduction.result.dtype));
  return bytes;
}

// Whether a row's result meets operands of its own: they are loaded once the row is reduced.
bool loads_for_results(const Region& region, const ReductionPlan& plan) {
  const SymInt row = SymInt::axis("row", plan.rows);
  Inliner inliner(region);
  bind_reductions(inliner, plan, row);
  bool loads = false;
  for (const auto& output : plan.outputs) {
    if (output.full) continue;
    const Expr value =
        inliner.value_at(output.stored.base, output_base_index(plan, output, row, 0));
    ir::visit(value, [&](const Expr& e) { loads |= e->kind == ir::ExprNode::Kind::load; });
  }
  return loads;
}

class Rows : public Candidate {
 public:
  Rows(const Template& by, const Region& region, const Target& target, ReductionPlan plan)
      : Candidate(by, region, target), plan_(std::move(plan)) {}

  KernelSequence lower(const Config& config) const override {
    return lower_reduction(region(), plan_, config, target());
  }

  std::vector<Alternative> alternatives(AlternativeStage stage) const override {
    if (stage != AlternativeStage::primitives) return {};
    std::optional<Alternative> split = reduction_split(*region().anchor, target());
    if (!split) return {};
    return {*std::move(split)};
  }

 private:
  ConfigSpace make_space() const override {
    const Region& region = this->region();
    const Target& target = this->target();
    const ReductionPlan& plan = plan_;
    ConfigSpace space;
    space.parameters = kernel_template().parameters();
    if (may_cluster(plan, target))
      std::erase_if(values_of(space.parameters, "cluster"),
                    [&](int64_t cluster) { return cluster > target.max_cluster; });
    else
      leave_out(space.parameters, "cluster");
    // A kernel of open rows serves all of its range, beside those of shorter ranges.
    if (plan.columns.is_const())
      leave_out(space.parameters, "kept_vectors");
    else
      space.complete = [plan](Config& config) { complete(config, plan); };
    const int64_t most_cols =
        plan.columns.is_const() ? std::max<int64_t>(plan.cols, 1) : int64_t{ir::kMostSize};
    space.constraints = {
        {str("a workgroup has ", fewest_threads(target),
             " to 1024 threads, and no more than the device allows"),
         [fewest = fewest_threads(target), max = target.max_workgroup_size](const Config& c) {
           int64_t threads = c["row_threads"] * c["rows"];
           return threads >= fewest && threads <= max;
         }},
        {"vectors divide the row, or the rows; an index is found for one row at a time",
         [plan, arg = finds_index(plan)](const Config& c) {
           if (plan.inner) return plan.has_whole(c["vector"]);
           return c["vector"] == 1 ||
                  (!arg && !plan.rows.is(0) && plan.rows.divisible_by(c["vector"]));
         }},
        {"no more threads than vectors in a row",
         [most_cols, inner = plan.inner](const Config& c) {
           return c["row_threads"] * cluster_of(c) <=
                  power_of_two_at_least(ceil_div(most_cols, inner ? c["vector"] : 1));
         }},
        {"a cluster takes one row, with many threads of each workgroup",
         [](const Config& c) {
           return cluster_of(c) == 1 ||
                  (c["rows"] == 1 && c["row_threads"] >= kFewestClusterThreads);
         }},
        {"a kept row fits into registers, and what is loaded with it",
         [plan, late = late_loads(region, plan),
          registers = target.registers_per_unit](const Config& c) {
           if (c["keep"] == 2 && (late == 0 || per_thread(plan, c) * (1 + late) > kMaxEarly))
             return false;
           if (c.has("kept_vectors") &&
               (c["keep"] == 0 ? c["kept_vectors"] != 0
                               : c["kept_vectors"] < most_vectors(plan, c)))
             return false;
           if (c["keep"] == 0) return true;
           const int64_t kept = per_thread(plan, c);
           if (cluster_of(c) > 1 && (kept + kOtherRegisters) * c["row_threads"] > registers)
             return false;
           return kept <= kMaxCached;
         }},
        {"shared memory",
         [bytes = target.static_shared_bytes(), inner = plan.inner, word = widest_result(plan),
          lanes = target.subgroup_shuffle ? target.subgroup_size : 1,
          turns = std::min<int64_t>(2, std::ssize(plan.reductions))](const Config& c) {
           // Exchanges in a row take turns with two arrays for each result of a thread: those of
           // several reductions, or of more threads than read each other's at once.
           const int64_t at_once = kExchangeThreads * std::max<int64_t>(1, lanes / c["rows"]);
           const int64_t arrays = c["row_threads"] > at_once ? 2 : turns;
           const int64_t of_thread = inner ? 0 : arrays * c["vector"] * word;
           return c["row_threads"] * c["rows"] * std::max<int64_t>(32, of_thread) <= bytes;
         }},
    };
    return space;
  }

  Config make_default_config() const override {
    const Region& region = this->region();
    const Target& target = this->target();
    const ReductionPlan& plan = plan_;
    const int64_t cols = std::max<int64_t>(plan.cols, 1), usual_rows = plan.rows.usual();
    int64_t block = std::min<int64_t>(target.full_workgroup, target.max_workgroup_size);
    const int64_t fewest = fewest_threads(target);
    int64_t vector = std::max<int64_t>(1, std::min<int64_t>(8, 16 / widest_load(region, plan)));
    int64_t row_threads = 1, rows = 1;
    const bool full = has_full_output(plan);
    // One pass is left of a row that is not kept.
    const bool one_pass = !full && (plan.stages == 1 || plan.online);
    if (plan.inner) {
      while ((plan.run > 1 ? plan.run : cols) % vector != 0 || !plan.has_whole(vector)) vector /= 2;
      int64_t groups = ceil_div(cols, vector);
      // Four vectors a thread keep enough loads in flight; short rows share a workgroup.
      int64_t wanted =
          power_of_two_at_least(std::max(ceil_div(groups, 4), threads_of_long_rows(plan, vector)));
      int64_t least = std::min<int64_t>(target.subgroup_size, power_of_two_at_least(groups));
      int64_t most = std::min<int64_t>(1024, target.max_workgroup_size);
      if (target.serial_workgroups) most = std::min<int64_t>(most, target.subgroup_size);
      // Smaller workgroups wait for each other less, where there are enough of them.
      const int64_t busy = int64_t{target.compute_units} * target.max_threads_per_unit;
      if (one_pass && usual_rows * block * 2 >= busy) most = std::min(most, block);
      row_threads = std::min(std::max(wanted, least), most);
      rows = std::max<int64_t>(1, block / row_threads);
    } else {
      if (!target.wide_accesses || finds_index(plan)) vector = 1;
      while (vector > 1 && (!plan.rows.divisible_by(vector) || plan.run % vector != 0)) vector /= 2;
      const int64_t groups = ceil_div(usual_rows, vector),
                    bytes = vector * widest_load(region, plan);
      // A line of neighbouring rows, or a sector where the device would be idle.
      rows = std::min({std::clamp<int64_t>(kLine / bytes, 1, 32), power_of_two_at_least(groups),
                       power_of_two_at_most(block)});
      while (rows * bytes > kSector && groups < rows * target.compute_units) rows /= 2;
      // Four vectors a thread, as above.
      row_threads = std::min(block / rows, power_of_two_at_least(std::max(
                                               ceil_div(cols, 4), threads_of_long_rows(plan, 1))));
      while (rows * row_threads < block && groups >= 2 * rows * target.compute_units) rows *= 2;
      rows = std::max(rows, fewest / row_threads);
    }
    const int64_t row_groups = plan.inner ? usual_rows : ceil_div(usual_rows, vector);
    while (rows > 1 && rows * row_threads > fewest && rows / 2 >= power_of_two_at_least(row_groups))
      rows /= 2;
    Config config{{"row_threads", row_threads}, {"rows", rows}, {"vector", vector}, {"keep", 0}};
    if (may_cluster(plan, target)) {
      const bool narrow = widest_load(region, plan) <= 2 && late_loads(region, plan) == 0;
      plan.inner ? choose_cluster(config, plan, target, one_pass, narrow)
                 : choose_outer_cluster(config, plan, target);
    }
    if (!one_pass && per_thread(plan, config) <= (target.indexed_registers ? 32 : kMaxCached)) {
      config.set("keep", 1);
      const int64_t late = target.indexed_registers ? 0 : late_loads(region, plan);
      if (late > 0 && per_thread(plan, config) * (1 + late) <= kFewEarly) config.set("keep", 2);
    }
    complete(config, plan);
    return config;
  }

  // More workgroups for neighbouring rows where these are too few to fill the device.
  static void choose_outer_cluster(Config& config, const ReductionPlan& plan,
                                   const Target& target) {
    const int64_t groups = ceil_div(plan.rows.usual(), config["vector"]);
    int64_t cluster = 1;
    while (cluster < target.max_cluster && groups * cluster < target.compute_units &&
           plan.cols >= 2 * cluster * kFewestOuterColumns)
      cluster *= 2;
    if (cluster == 1) return;
    config.set("cluster", cluster);
    config.set("rows", 1);
    config.set(
        "row_threads",
        std::clamp(power_of_two_at_least(ceil_div(plan.cols, 4 * cluster)), kFewestClusterThreads,
                   std::min<int64_t>(kMostClusterThreads, target.max_workgroup_size)));
  }

  // More workgroups for a row: as many as can keep it, and as fill the device.
  static void choose_cluster(Config& config, const ReductionPlan& plan, const Target& target,
                             bool one_pass, bool narrow) {
    const int64_t kept = kMostClusterThreads * kMaxCached / 2;  // of a workgroup: two fit an SM
    const int64_t units = target.compute_units, rows = plan.rows.usual();
    int64_t cluster = 1, threads = 0;
    if (!one_pass && plan.cols <= most_kept_columns(target))
      while (cluster < target.max_cluster && plan.cols > cluster * kept) cluster *= 2;
    // A third of the compute units draws all bandwidth where there is little arithmetic.
    const bool cheap = one_pass && plan.stages == 1 && !finds_index(plan);
    if (!cheap || rows * 3 <= units)
      while (cluster < target.max_cluster && rows * cluster < units &&
             plan.cols >= 2 * cluster * kFewestClusterColumns)
        cluster *= 2;
    // Arithmetic on 16-bit elements takes about as long as moving them: small workgroups that are
    // not in step hide it best. A norm's weights leave them no registers.
    if (!one_pass && narrow && cluster > 1 && cluster * 2 == target.max_cluster &&
        rows * target.max_cluster >= 4 * units) {
      cluster *= 2;
      threads = kFewestClusterThreads;
    }
    config.set("cluster", cluster);
    if (cluster == 1) return;
    const int64_t vectors = ceil_div(plan.cols, cluster * config["vector"]);
    if (threads == 0) threads = power_of_two_at_least(ceil_div(vectors, 4));
    config.set("rows", 1);
    config.set("row_threads",
               std::clamp(threads, kFewestClusterThreads,
                          std::min<int64_t>(kMostClusterThreads, target.max_workgroup_size)));
  }

  CostModel make_cost_model() const override {
    const Region& region = this->region();
    const ReductionPlan& plan = plan_;
    const int64_t rows = plan.rows.usual(), cols = std::max<int64_t>(plan.cols, 1);
    const Elements elements(region, plan);
    std::vector<Expr> values = elements.reduced;
    values.insert(values.end(), elements.full.begin(), elements.full.end());
    const auto stores = static_cast<double>(elements.full.size());
    const SymInt& along = elements.along();
    ir::rewrite_all(values, [&](const Expr& e) -> Expr {
      if (e->kind != ir::ExprNode::Kind::load) return nullptr;
      return ir::load(e->buffer, e->stored, from_start(e->index, along));
    });
    const auto apart = static_cast<double>(  // stored one by one
        std::ranges::count_if(elements.places, [&](const SymInt& place) {
          return coefficient(from_start(place, along), along) != 1;
        }));
    // With what is kept, all passes together do each thing once; without, each pass does its own.
    const ElementWork once = element_work(values, along);
    ElementWork each;
    for (const Expr& value : values) {
      const ElementWork own = element_work({&value, 1}, along);
      each.contiguous += own.contiguous;
      each.scattered += own.scattered;
      each.shared += own.shared;
      each.bytes += own.bytes;
      each.slots += own.slots;
    }
    const double bytes = moved_bytes(region, values, static_cast<double>(rows * cols));
    const double passes_saved = plan.online ? 1 : 0;
    const auto late = static_cast<double>(late_loads(region, plan));
    return [=, target = target(), waits_for_results = loads_for_results(region, plan),
            inner = plan.inner, of_run = static_cast<double>(plan.run),
            stages = static_cast<double>(plan.stages),
            reductions = static_cast<double>(plan.reductions.size())](const Config& c) {
      const auto width = static_cast<double>(c["vector"]),
                 group = static_cast<double>(c["row_threads"]),
                 cluster = static_cast<double>(cluster_of(c)), lanes = group * cluster,
                 block_rows = static_cast<double>(c["rows"]);
      const bool keep = c["keep"] != 0;
      const double passes = stages + (stores > 0 ? 1 : 0) - (keep ? 0 : passes_saved);
      const ElementWork& work = keep || passes == 1 ? once : each;
      const double loads = std::max(1.0, work.contiguous + work.scattered);
      const double element = std::max(1.0, work.bytes) / loads;
      const double row_groups = std::ceil(static_cast<double>(rows) / (inner ? 1 : width));
      const double iterations =
          std::ceil(static_cast<double>(ceil_div(cols, inner ? c["vector"] : 1)) / lanes);
      LaunchCost cost;
      cost.threads = group * block_rows;
      cost.workgroups = std::max(1.0, std::ceil(row_groups / block_rows) * cluster);
      const double threads = cost.workgroups * cost.threads;
      const double steps = threads * iterations;  // vectors, those of idle threads included
      // Loops over vectors of a longer row: their conditions, or all of a short vector's work.
      const double unused = c.has("kept_vectors") && keep
                                ? std::max(0.0, static_cast<double>(c["kept_vectors"]) - iterations)
                                : 0;
      // Elements that are no neighbours are loaded and stored one by one, each from its own line.
      const double single = work.scattered + apart;
      cost.accesses =
          steps * (std::ceil(width * element / 16) * (work.contiguous + stores - apart) +
                   width * single + work.shared);
      // Neighbouring threads share a line as long as they are in one row, or in one column.
      const double run = std::min((inner ? group : block_rows) * width, of_run) * element;
      const double lines = std::max(1.0, 8 * width * element / std::max(run, 16.0));
      cost.bank_cycles =
          (cost.accesses * (lines - 1) / 4 + kLinesApart * steps * width * single) / 32;
      cost.elements = steps * (width * (loads + stores) + work.shared);
      // Lanes are combined in a tree, and all lanes of a vector before.
      const double levels = std::log2(std::max(1.0, group));
      const double loop = keep ? 2 : 12;  // of one vector; kept rows are unrolled
      cost.arithmetic =
          steps * (width * (work.slots + reductions) + loop * passes) +
          threads * unused * std::min(width * (work.slots + reductions), kUnused * passes) +
          threads * reductions * (inner ? 1 : width) *
              (12 * levels + 4 * (inner ? width : 1) + (cluster > 1 ? 8 * cluster : 0));
      // Pieces of a row that are shorter than a sector bring what nobody asked for.
      const double sector = std::max(1.0, 32 / std::max(run, 1.0));
      const double again = std::max(0.0, loads - once.contiguous - once.scattered) * element *
                           static_cast<double>(rows) * static_cast<double>(cols);
      cost.memory_bytes = bytes * std::min(sector, 4.0);
      cost.cache_bytes = (bytes + again) * sector + steps * width * single * (32 - element);
      // Unrolled loops have all their loads in flight, others those that the compiler unrolls.
      const double together = std::min(iterations, keep ? 16.0 : 4.0);
      const double streams = std::max(1.0, once.held);
      cost.bytes_in_flight = std::max(4.0, together * width * element * streams);
      // Accumulators are gone when those of a cluster hold most.
      cost.registers = kOtherRegisters + (cluster > 1 ? 4 : width) * reductions +
                       width * (streams - (c["keep"] == 1 ? late : 0)) *
                           (keep ? iterations + unused : std::min(iterations, 4.0));
      const double waits = !keep ? passes : late > 0 && c["keep"] == 1 ? 2 : 1;
      cost.round_trips = waits * std::ceil(iterations / together) + (waits_for_results ? 1 : 0);
      const bool in_subgroup = inner && target.subgroup_shuffle && group <= target.subgroup_size;
      if (group > 1 && !in_subgroup)
        cost.barriers = stages * (inner && target.subgroup_shuffle ? 2 : levels);
      // Workgroups of a cluster start together, and wait for the slowest at each exchange.
      if (cluster > 1) cost.barriers += kClusterBarriers * (stages + 1);
      if (cost.barriers > 0) cost.shared_bytes = cost.threads * 4 * reductions;
      cost.parallelism = std::min(8.0, width);
      return predicted_seconds(cost, target);
    };
  }

  ReductionPlan plan_;
};

class Reduction : public Template {
 public:
  std::string_view name() const override { return "reduction"; }
  int version() const override { return 2; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override {
    return {
        {"row_threads", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, "threads that share a row"},
        {"rows", {1, 2, 4, 8, 16, 32, 64, 128, 256}, "rows of a workgroup"},
        {"vector",
         {1, 2, 4, 8},
         "neighbouring columns of one access; neighbouring rows where those are contiguous"},
        {"keep",
         {0, 1, 2},
         "keep the row in registers between stages; 2: load first what only the outputs read, too"},
        {"cluster", {1, 2, 4, 8}, "workgroups that share a row"},
        {"kept_vectors", kKeptVectors, "vectors of a row of open length that a thread keeps"},
    };
  }
  int least_workgroup() const override { return 1; }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<ReductionPlan> plan = plan_reduction(region);
    if (!plan) return plan.refusal();
    return std::make_shared<const Rows>(*this, region, target, *std::move(plan));
  }
};

const RegisterTemplate<Reduction> registered;

}  // namespace

}  // namespace tcc::sched::template_reduction
