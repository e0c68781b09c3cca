// A group of threads walks a line tile by tile. Of a tile, every thread scans its neighbouring
// items in registers, the threads' totals are scanned across the group, and what is left of the
// tiles before, the carry, joins.
#include "scheduler/templates/scan_lowering.h"

#include <algorithm>

#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

// Tiles of which one running sum is kept.
constexpr int64_t kFewTiles = 16;

// Open lines of more tiles have more parts than a part has tiles.
constexpr int64_t kManyTiles = 1 << 14;

// How many of `all` tiles to walk as a part: about the square root, so that hardly any is too many.
int64_t tiles_of_part(const SymInt& all) {
  const int64_t tiles = all.is_const() ? all.value() : std::min(all.range().hi, kManyTiles);
  int64_t root = 1;
  while (root * root < tiles) ++root;
  int64_t best = root;
  const auto covered = [&](int64_t part) { return ceil_div(tiles, part) * part; };
  for (int64_t part = root; part <= 2 * root; ++part)
    if (covered(part) < covered(best)) best = part;
  return best;
}

class ScanLowering {
 public:
  ScanLowering(const Region& region, const ScanPlan& plan, const Config& config)
      : region_(region),
        plan_(plan),
        inliner_(region),
        kind_(*plan.node->op->reduction),
        row_threads_(config["row_threads"]),
        rows_(config["rows"]),
        items_(config["items"]),
        tile_(row_threads_ * items_),
        carry_(variable("carry")),
        part_(variable("part")),
        own_(variable("own")),
        prefix_(variable("prefix")),
        total_(variable("total")),
        scanned_(variable("scanned")),
        item_(SymInt::axis("item", items_)) {}

  Kernel run() {
    Kernel kernel = start_kernel(region_);
    kernel.workgroup = static_cast<int>(row_threads_ * rows_);
    kernel.grid = blocks_of(plan_.lines, rows_);
    if (plan_.is_empty()) return kernel;
    const SymInt thread = thread_axis(kernel.workgroup);
    // Threads of neighbouring places in memory are neighbours.
    const SymInt of_line = plan_.along_memory ? floordiv(thread, row_threads_) : mod(thread, rows_);
    const SymInt of_lane = plan_.along_memory ? mod(thread, row_threads_) : floordiv(thread, rows_);
    raw_line_ = block_axis(kernel.grid) * rows_ + of_line;
    line_ = SymInt::axis("line", plan_.lines);
    const SymInt lane = SymInt::axis("lane", row_threads_);
    if (!lane.is_const()) kernel.body.push_back(let_index(lane, of_lane));
    // Threads past the last line repeat it, since all must arrive at barriers, and write nothing.
    if (!line_.is_const())
      kernel.body.push_back(let_index(line_, ir::min(raw_line_, plan_.lines - 1)));
    kernel.body.push_back(declare(carry_, nothing()));
    // Many tiles are walked in parts, whose totals join the carry as a whole: one running sum of
    // many terms would lose digits.
    const SymInt tiles = ir::ceildiv(plan_.length, tile_);
    in_parts_ = tiles.range().hi > kFewTiles;
    const SymInt inner = in_parts_ ? tiles_of_part(tiles) : tiles,
                 outer = in_parts_ ? ir::ceildiv(tiles, inner) : 1;
    const SymInt part = SymInt::axis("part_of", outer);
    // The last part of an open line may be shorter.
    const bool is_whole = !in_parts_ || tiles.is_const();
    const SymInt in_part =
        SymInt::axis("tile", is_whole ? inner : ir::min(inner, tiles - part * inner));
    const SymInt tile = part * inner + in_part;
    // Only where tiles cover the line exactly is every thread's run of items in it.
    run_ = SymInt::axis("run", outer * inner * row_threads_);
    Block body;
    if (!run_.is_const()) body.push_back(let_index(run_, tile * row_threads_ + lane));
    append(body, of_tile());
    Stmt walk = loop(in_part, std::move(body));
    if (!in_parts_) {
      kernel.body.push_back(std::move(walk));
      return kernel;
    }
    kernel.body.push_back(loop(part, {declare(part_, nothing()), std::move(walk),
                                      assign(carry_, join(ir::read(carry_), ir::read(part_)))}));
    return kernel;
  }

 private:
  Expr nothing() const { return identity_value(kind_, plan_.dtype); }
  Variable variable(const char* name) const { return ir::new_variable(name, plan_.dtype); }
  Expr join(const Expr& a, const Expr& b) const { return combine_values(kind_, a, b); }
  Expr scanned(const SymInt& item) const { return ir::element(scanned_, item); }

  // The place in the line of the element of a run that is `item`-th in memory.
  SymInt position(const SymInt& run, const SymInt& item) const {
    return plan_.reverse ? plan_.length - items_ - run * items_ + item : run * items_ + item;
  }
  // Runs are in the line or not, as a whole.
  bool whole() const { return plan_.length.divisible_by(items_); }
  SymInt runs() const { return ir::floordiv(plan_.length, items_); }
  Expr has_run() const { return ir::index_less(run_, runs()); }
  Expr is_in_line(const SymInt& position) const { return ir::in_range(position, 0, plan_.length); }

  // Returns an axis of `extent` that `block` gives the value of `index`, which is below it where
  // the block runs: what is inlined at the axis knows that, as the plan does.
  static SymInt bounded(const char* hint, const SymInt& index, const SymInt& extent, Block& block) {
    if (extent.is_const() && index.range().lo >= 0 && index.range().hi < extent.value())
      return index;
    const SymInt axis = SymInt::axis(hint, extent);
    if (!axis.is_const()) block.push_back(let_index(axis, index));
    return axis;
  }

  Block of_tile() {
    Block block = {array(scanned_, items_)};
    append(block, load_items());
    // In the order of the scan; what stands at an item afterwards includes it, or does not.
    const SymInt step = SymInt::axis("step", items_),
                 item = plan_.reverse ? items_ - 1 - step : step;
    Block scan = {declare(own_, scanned(item))};
    if (plan_.exclusive) scan.push_back(set_element(scanned_, item, ir::read(total_)));
    scan.push_back(assign(total_, join(ir::read(total_), ir::read(own_))));
    if (!plan_.exclusive) scan.push_back(set_element(scanned_, item, ir::read(total_)));
    append(block, {declare(prefix_, nothing()), declare(total_, nothing()),
                   loop(step, std::move(scan), true)});
    if (row_threads_ > 1)
      block.push_back(
          scan_lanes(kind_, prefix_, total_, row_threads_, plan_.along_memory ? 1 : rows_));
    const Variable& running = in_parts_ ? part_ : carry_;
    block.push_back(assign(prefix_, join(ir::read(running), ir::read(prefix_))));
    if (in_parts_) block.push_back(assign(prefix_, join(ir::read(carry_), ir::read(prefix_))));
    append(block, store_items());
    block.push_back(assign(running, join(ir::read(running), ir::read(total_))));
    return block;
  }

  Expr operand_at(const SymInt& at) {
    return ir::cast(inliner_.value_at(plan_.node->inputs[0], plan_.index_of(line_, at)),
                    plan_.dtype);
  }

  Block load_items() {
    const Block none = {loop(item_, {set_element(scanned_, item_, nothing())}, true)};
    if (!whole()) {
      const SymInt at = position(run_, item_);
      const SymInt in_line = ir::max(ir::min(at, plan_.length - 1), 0);
      return {loop(item_,
                   {set_element(scanned_, item_,
                                ir::select(is_in_line(at), operand_at(in_line), nothing()))},
                   true)};
    }
    Block loads;
    const SymInt run = bounded("inside", run_, runs(), loads);
    append(loads, vectorize_values({operand_at(position(run, item_))}, item_,
                                   [&](const std::vector<Expr>& values) -> Block {
                                     return {set_element(scanned_, item_, values[0])};
                                   }));
    if (ir::is_true(has_run())) return loads;
    return {branch(has_run(), std::move(loads), none)};
  }

  std::vector<Sink> sinks(const SymInt& at) {
    const std::vector<SymInt> index = plan_.index_of(line_, at);
    bind_scan(inliner_, plan_, index, join(ir::read(prefix_), scanned(item_)));
    std::vector<Sink> sinks;
    for (const auto& output : plan_.outputs) {
      Sink sink;
      sink.buffer = region_.slot_of_output(output.value);
      sink.offset = region_.layout(output.value).offset(output.stored.output_index(index));
      sink.value = inliner_.value_at(output.stored.base, index);
      sinks.push_back(sink);
    }
    return sinks;
  }

  Block store_items() {
    std::vector<Expr> conditions = {ir::index_less(raw_line_, plan_.lines)};
    Block stores;
    if (whole()) {
      conditions.push_back(has_run());
      const SymInt run = bounded("inside", run_, runs(), stores);
      append(stores, vectorize(sinks(position(run, item_)), item_));
    } else {
      const SymInt at = position(run_, item_);
      Block one;
      const SymInt place = bounded("place", at, plan_.length, one);
      append(one, vectorize(sinks(place), 0));
      stores = {loop(item_, {branch(is_in_line(at), std::move(one))}, true)};
    }
    const Expr inside = ir::all_of(conditions);
    if (inside) stores = {branch(inside, std::move(stores))};
    return stores;
  }

  const Region& region_;
  const ScanPlan& plan_;
  Inliner inliner_;
  ir::ReduceKind kind_;
  int64_t row_threads_, rows_, items_, tile_;
  bool in_parts_ = false;
  // Running sums: of the line, of a part of it, and those of scan_lanes.
  Variable carry_, part_, own_, prefix_, total_;
  Variable scanned_;
  SymInt item_, line_, raw_line_, run_;  // run_: the thread's run of items
};

}  // namespace

Kernel lower_scan(const Region& region, const ScanPlan& plan, const Config& config) {
  return ScanLowering(region, plan, config).run();
}

}  // namespace tcc::sched
