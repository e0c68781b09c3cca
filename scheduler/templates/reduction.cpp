// Reductions and normalisations: a group of threads takes a row, reduces it once or several times,
// and writes elements, row results, or both. Where the row fits, what later stages need is kept in
// registers.
#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/templates/common.h"
#include "scheduler/templates/cost.h"
#include "scheduler/templates/reduction_plan.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::ReduceKind;

// Elements that one thread keeps in registers, at most.
constexpr int64_t kMaxCached = 64;

int64_t per_thread(const ReductionPlan& plan, const Config& config) {
  return ceil_div(ceil_div(plan.cols, config["vector"]), config["row_threads"]) * config["vector"];
}

int widest_input(const Region& region) {
  int bytes = 1;
  for (const ir::Value* value : region.inputs) bytes = std::max(bytes, size_bytes(value->dtype()));
  return bytes;
}

class Lowering {
 public:
  Lowering(const Region& region, const ReductionPlan& plan, const Config& config)
      : region_(region),
        plan_(plan),
        inliner_(region),
        width_(config["vector"]),
        row_threads_(config["row_threads"]),
        block_rows_(config["rows"]),
        cached_(config["keep"] != 0) {
    row_ = SymInt::axis("row", plan.rows);
    lane_ = SymInt::axis("lane", row_threads_);
    groups_ = plan.cols / width_;
    group_ = SymInt::axis("group", std::max<int64_t>(groups_, 1));
    v_ = SymInt::axis("v", width_);
    iterations_ = ceil_div(groups_, row_threads_);
    iteration_ = SymInt::axis("e", std::max<int64_t>(iterations_, 1));
    col_ = group_ * width_ + v_;
  }

  Kernel run() {
    Kernel kernel = start_kernel(region_);
    kernel.workgroup = static_cast<int>(row_threads_ * block_rows_);
    kernel.grid = ceil_div(plan_.rows, block_rows_);
    for (const auto& reduction : plan_.reductions)
      kernel.flops += static_cast<double>(numel(reduction.node->inputs[0]));
    bind_reductions(inliner_, plan_, row_);
    body_ = &kernel.body;
    place_threads(kernel);
    collect();
    if (cached_) choose_cached();
    for (int stage = 0; stage < plan_.stages; ++stage) reduce_stage(stage);
    write_outputs();
    return kernel;
  }

 private:
  void place_threads(const Kernel& kernel) {
    SymInt block = block_axis(kernel.grid), thread = thread_axis(kernel.workgroup);
    SymInt of_row = plan_.inner ? floordiv(thread, row_threads_) : mod(thread, block_rows_);
    SymInt of_lane = plan_.inner ? mod(thread, row_threads_) : floordiv(thread, block_rows_);
    raw_row_ = block * block_rows_ + of_row;
    if (!lane_.is_const()) body_->push_back(let_index(lane_, of_lane));
    // Threads past the last row repeat it, since all must arrive at barriers, and write nothing.
    if (!row_.is_const()) body_->push_back(let_index(row_, ir::min(raw_row_, plan_.rows - 1)));
  }

  void collect() {
    stage_values_.resize(static_cast<size_t>(plan_.stages));
    for (const auto& reduction : plan_.reductions) {
      Expr body = reduction_body(inliner_, reduction, row_, col_);
      ReduceKind kind = *reduction.node->op->reduction;
      if (!ir::is_arg(kind))
        body = ir::cast(body, compute_dtype(reduction.node->outputs[0]->dtype()));
      stage_values_[static_cast<size_t>(reduction.stage)].push_back(body);
    }
    for (const auto& output : plan_.outputs)
      if (output.full)
        full_values_.push_back(
            inliner_.value_at(output.stored.base, output_base_index(plan_, output, row_, col_)));
  }

  bool depends_on_column(const Expr& e) {
    bool result = false;
    ir::visit(e, [&](const Expr& node) {
      if (node->kind == ir::ExprNode::Kind::index || node->kind == ir::ExprNode::Kind::load)
        node->index.visit_atoms([&](const ir::AtomPtr& atom) {
          if (atom->name == "group" || atom->name == "v") result = true;
        });
    });
    return result;
  }

  // What a stage computes per element and a later one wants again, topmost first.
  void choose_cached() {
    std::set<const ir::ExprNode*> seen;
    for (size_t stage = 0; stage <= stage_values_.size(); ++stage) {
      const auto& values = stage < stage_values_.size() ? stage_values_[stage] : full_values_;
      std::set<const ir::ExprNode*> visited;
      for (const Expr& value : values) find_cached(value, stage, seen, visited);
      for (const Expr& value : values)
        ir::visit(value, [&](const Expr& e) { seen.insert(e.get()); });
      for (const Expr& value : values)
        ir::visit(value, [&](const Expr& e) { first_stage_.try_emplace(e.get(), stage); });
    }
  }

  void find_cached(const Expr& e, size_t stage, const std::set<const ir::ExprNode*>& seen,
                   std::set<const ir::ExprNode*>& visited) {
    if (!visited.insert(e.get()).second) return;
    bool serial = e->kind == ir::ExprNode::Kind::reduce;
    bool keepable = e->kind == ir::ExprNode::Kind::load || e->kind == ir::ExprNode::Kind::call ||
                    e->kind == ir::ExprNode::Kind::cast || serial;
    if (keepable && seen.count(e.get()) && !is_low_precision(e->dtype) && depends_on_column(e)) {
      if (cache_.count(e.get())) return;
      cache_[e.get()] = inliner_.new_name("kept");
      cached_exprs_.push_back(e);
      return;
    }
    if (serial) return;  // its body has a value per step of its own loops
    for (const Expr& arg : e->args) find_cached(arg, stage, seen, visited);
  }

  SymInt cache_index() const { return iteration_ * width_ + v_; }

  // Replaces what earlier stages kept.
  void use_kept(std::vector<Expr>& values, size_t stage) {
    ir::rewrite_all(values, [&](const Expr& e) -> Expr {
      auto found = cache_.find(e.get());
      if (found == cache_.end() || first_stage_.at(e.get()) >= stage) return nullptr;
      return ir::element(found->second, e->dtype, cache_index());
    });
  }

  // A row's loop: `columns` is what a thread does with one vector of columns.
  Block over_row(Block columns) {
    Block inner;
    if (!group_.is_const()) inner.push_back(let_index(group_, iteration_ * row_threads_ + lane_));
    append(inner, std::move(columns));
    if (groups_ % row_threads_ != 0)
      inner = {
          branch(ir::index_less(iteration_ * row_threads_ + lane_, groups_), std::move(inner))};
    return {loop(iteration_, std::move(inner), cached_)};
  }

  // Runs `body` for every column of this thread: values are one lane's.
  void for_columns(size_t stage, std::vector<Expr> values,
                   const std::function<Block(const std::vector<Expr>&)>& body) {
    if (plan_.cols == 0) return;
    std::vector<Expr> kept_now;
    for (const Expr& e : cached_exprs_)
      if (first_stage_.at(e.get()) == stage) kept_now.push_back(e);
    for (const Expr& e : kept_now)
      body_->push_back(array(cache_.at(e.get()), e->dtype, iterations_ * width_));
    auto wanted = static_cast<long>(values.size());
    values.insert(values.end(), kept_now.begin(), kept_now.end());
    use_kept(values, stage);
    append(*body_, hoist_invariants(values, {group_, v_, iteration_}, inliner_));
    auto columns = vectorize_values(values, v_, inliner_, [&](const std::vector<Expr>& rewritten) {
      auto middle = rewritten.begin() + wanted;
      Block block;
      for (size_t i = 0; i < kept_now.size(); ++i)
        block.push_back(
            set_element(cache_.at(kept_now[i].get()), cache_index(), middle[static_cast<long>(i)]));
      append(block, body({rewritten.begin(), middle}));
      return block;
    });
    append(*body_, over_row(std::move(columns)));
  }

  void reduce_stage(int stage) {
    std::vector<const ReductionPlan::Reduction*> now;
    for (const auto& reduction : plan_.reductions)
      if (reduction.stage == stage) now.push_back(&reduction);
    const auto& values = stage_values_[static_cast<size_t>(stage)];
    for (size_t i = 0; i < now.size(); ++i) {
      ReduceKind kind = *now[i]->node->op->reduction;
      Expr start = identity_value(kind, values[i]->dtype);
      if (ir::is_arg(kind)) {
        body_->push_back(declare(now[i]->variable + "_value", start));
        body_->push_back(declare(now[i]->variable, ir::constant_int(DType::i64, plan_.cols)));
      } else if (width_ > 1) {
        // One accumulator per lane: independent sums, and less rounding than one long one.
        body_->push_back(array(now[i]->variable + "_lane", start->dtype, width_));
        body_->push_back(loop(v_, {set_element(now[i]->variable + "_lane", v_, start)}, true));
      } else {
        body_->push_back(declare(now[i]->variable, start));
      }
    }
    for_columns(static_cast<size_t>(stage), values, [&](const std::vector<Expr>& rewritten) {
      Block block;
      for (size_t i = 0; i < now.size(); ++i) {
        ReduceKind kind = *now[i]->node->op->reduction;
        const std::string& variable = now[i]->variable;
        if (ir::is_arg(kind)) {
          append(block, combine(kind, {variable + "_value", variable},
                                {rewritten[i], ir::index_value(col_)}));
        } else if (width_ > 1) {
          Expr acc = ir::element(variable + "_lane", rewritten[i]->dtype, v_);
          block.push_back(
              set_element(variable + "_lane", v_, combine_values(kind, acc, rewritten[i])));
        } else {
          append(block, combine(kind, {variable}, {rewritten[i]}));
        }
      }
      return block;
    });
    for (size_t i = 0; i < now.size(); ++i) {
      ReduceKind kind = *now[i]->node->op->reduction;
      const std::string& variable = now[i]->variable;
      if (!ir::is_arg(kind) && width_ > 1) {
        body_->push_back(declare(variable, ir::element(variable + "_lane", values[i]->dtype, 0)));
        for (int64_t v = 1; v < width_; ++v)
          append(*body_,
                 combine(kind, {variable}, {ir::element(variable + "_lane", values[i]->dtype, v)}));
      }
      if (row_threads_ == 1) continue;
      std::vector<std::string> names = {variable};
      if (ir::is_arg(kind)) names.insert(names.begin(), variable + "_value");
      body_->push_back(reduce_lanes(kind, names, row_threads_, plan_.inner ? 1 : block_rows_));
    }
  }

  void write_outputs() {
    Block* outer = body_;
    Block guarded;
    bool guard = plan_.rows % block_rows_ != 0;
    if (guard) body_ = &guarded;
    write_full();
    Block rows;
    for (const auto& output : plan_.outputs) {
      if (output.full) continue;
      std::vector<SymInt> base = output_base_index(plan_, output, row_, col_);
      Expr value = inliner_.value_at(output.stored.base, base);
      SymInt offset = region_.layout(output.value).offset(output.stored.output_index(base));
      rows.push_back(store(region_.slot_of_output(output.value), offset, value));
    }
    if (!rows.empty() && !lane_.is_const())
      rows = {branch(ir::call(ir::Fn::eq, {ir::index_value(lane_), ir::index_value(0)}),
                     std::move(rows))};
    append(*body_, std::move(rows));
    body_ = outer;
    if (guard) body_->push_back(branch(ir::index_less(raw_row_, plan_.rows), std::move(guarded)));
  }

  void write_full() {
    if (full_values_.empty() || plan_.cols == 0) return;
    size_t stage = stage_values_.size();
    std::vector<Sink> sinks;
    std::vector<Expr> values = full_values_;
    use_kept(values, stage);
    append(*body_, hoist_invariants(values, {group_, v_, iteration_}, inliner_));
    size_t next = 0;
    for (const auto& output : plan_.outputs) {
      if (!output.full) continue;
      std::vector<SymInt> base = output_base_index(plan_, output, row_, col_);
      SymInt offset = region_.layout(output.value).offset(output.stored.output_index(base));
      sinks.push_back({region_.slot_of_output(output.value), "", offset, values[next++]});
    }
    append(*body_, over_row(vectorize(sinks, v_, inliner_)));
  }

  const Region& region_;
  const ReductionPlan& plan_;
  Inliner inliner_;
  int64_t width_, row_threads_, block_rows_;
  bool cached_;
  int64_t groups_ = 0, iterations_ = 0;
  SymInt row_, raw_row_, lane_, group_, v_, iteration_, col_;
  Block* body_ = nullptr;
  std::vector<std::vector<Expr>> stage_values_;
  std::vector<Expr> full_values_;
  std::map<const ir::ExprNode*, std::string> cache_;
  std::map<const ir::ExprNode*, size_t> first_stage_;
  std::vector<Expr> cached_exprs_;
};

class Reduction : public Template {
 public:
  std::string_view name() const override { return "reduction"; }
  int version() const override { return 1; }

  bool accepts(const Region& region, const Target&) const override {
    return region.anchor && region.anchor->op->kind == ir::OpKind::reduce && plan_reduction(region);
  }

  ConfigSpace space(const Region& region, const Target& target) const override {
    ReductionPlan plan = *plan_reduction(region);
    ConfigSpace space;
    space.parameters = {
        {"row_threads", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, "threads that share a row"},
        {"rows", {1, 2, 4, 8, 16, 32, 64, 128, 256}, "rows of a workgroup"},
        {"vector", {1, 2, 4, 8}, "neighbouring columns of one access"},
        {"keep", {0, 1}, "keep the row in registers between stages"},
    };
    int64_t cols = std::max<int64_t>(plan.cols, 1);
    space.constraints = {
        {"a workgroup has 32 to 1024 threads, and no more than the device allows",
         [max = target.max_workgroup_size](const Config& c) {
           int64_t threads = c["row_threads"] * c["rows"];
           return threads >= 32 && threads <= max;
         }},
        {"vectors divide the row, and only rows that are contiguous have them",
         [cols, inner = plan.inner](const Config& c) {
           return c["vector"] == 1 || (inner && cols % c["vector"] == 0);
         }},
        {"no more threads than vectors in a row",
         [cols](const Config& c) {
           return c["row_threads"] <= power_of_two_at_least(ceil_div(cols, c["vector"]));
         }},
        {"a kept row fits into registers",
         [plan](const Config& c) { return c["keep"] == 0 || per_thread(plan, c) <= kMaxCached; }},
        {"shared memory",
         [bytes = target.static_shared_bytes()](const Config& c) {
           return c["row_threads"] * c["rows"] * 16 <= bytes;
         }},
    };
    return space;
  }

  Config default_config(const Region& region, const Target& target) const override {
    ReductionPlan plan = *plan_reduction(region);
    int64_t cols = std::max<int64_t>(plan.cols, 1);
    int64_t block = std::min<int64_t>(target.is_cpu ? 64 : 256, target.max_workgroup_size);
    int64_t vector = 1, row_threads = 1, rows = 1;
    if (plan.inner) {
      vector = std::max<int64_t>(1, std::min<int64_t>(8, 16 / widest_input(region)));
      while (cols % vector != 0) vector /= 2;
      int64_t groups = ceil_div(cols, vector);
      // Four vectors a thread keep enough loads in flight; short rows share a workgroup.
      int64_t wanted = power_of_two_at_least(ceil_div(groups, 4));
      int64_t least = std::min<int64_t>(target.subgroup_size, power_of_two_at_least(groups));
      int64_t most = std::min<int64_t>(1024, target.max_workgroup_size);
      if (target.is_cpu) most = target.subgroup_size;  // a barrier costs more than it saves
      row_threads = std::min(std::max(wanted, least), most);
      rows = std::max<int64_t>(1, block / row_threads);
    } else {
      rows = std::min<int64_t>(32, power_of_two_at_least(plan.rows));
      row_threads = std::min(block / rows, power_of_two_at_least(cols));
      rows = std::max(rows, 32 / row_threads);
    }
    while (rows > 1 && rows * row_threads > 32 && rows / 2 >= power_of_two_at_least(plan.rows))
      rows /= 2;
    Config config{{"row_threads", row_threads}, {"rows", rows}, {"vector", vector}, {"keep", 0}};
    bool several_uses = plan.stages > 1 || std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                                       [](const auto& o) { return o.full; });
    if (several_uses && per_thread(plan, config) <= (target.is_cpu ? 32 : kMaxCached))
      config.set("keep", 1);
    return config;
  }

  CostModel cost_model(const Region& region, const Target& target) const override {
    const ReductionPlan plan = *plan_reduction(region);
    const int64_t rows = plan.rows, cols = std::max<int64_t>(plan.cols, 1);
    const SymInt row = SymInt::axis("row", rows), col = SymInt::axis("col", cols);
    Inliner inliner(region);
    bind_reductions(inliner, plan, row);
    std::vector<Expr> values;
    for (const auto& reduction : plan.reductions)
      values.push_back(reduction_body(inliner, reduction, row, col));
    double stores = 0;
    for (const auto& output : plan.outputs) {
      if (!output.full) continue;
      ++stores;
      values.push_back(
          inliner.value_at(output.stored.base, output_base_index(plan, output, row, col)));
    }
    // With what is kept, all passes together do each thing once; without, each pass does its own.
    const SymInt& along = plan.inner ? col : row;
    const ElementWork once = element_work(values, along);
    ElementWork each;
    for (const Expr& value : values) {
      const ElementWork own = element_work({&value, 1}, along);
      each.contiguous += own.contiguous;
      each.scattered += own.scattered;
      each.shared += own.shared;
      each.bytes += own.bytes;
      each.arithmetic += own.arithmetic;
    }
    const double bytes = region_bytes(region);
    return [=, inner = plan.inner, stages = static_cast<double>(plan.stages),
            reductions = static_cast<double>(plan.reductions.size())](const Config& c) {
      const auto width = static_cast<double>(c["vector"]),
                 lanes = static_cast<double>(c["row_threads"]),
                 block_rows = static_cast<double>(c["rows"]);
      const bool keep = c["keep"] != 0;
      const ElementWork& work = keep ? once : each;
      const double loads = std::max(1.0, work.contiguous + work.scattered);
      const double element = std::max(1.0, work.bytes) / loads;
      const double passes = stages + (stores > 0 ? 1 : 0);
      const double iterations = std::ceil(static_cast<double>(ceil_div(cols, c["vector"])) / lanes);
      LaunchCost cost;
      cost.threads = lanes * block_rows;
      cost.workgroups = std::max(1.0, std::ceil(static_cast<double>(rows) / block_rows));
      const double threads = cost.workgroups * cost.threads;
      const double steps = threads * iterations;  // vectors, those of idle threads included
      cost.accesses =
          steps * std::ceil(width * element / 16) * (loads + stores) + steps * work.shared;
      // Neighbouring threads share a line as long as they are in one row, or in one column.
      const double run = (inner ? lanes * width : block_rows) * element;
      const double lines = std::max(1.0, 8 * width * element / std::max(run, 16.0));
      cost.bank_cycles = cost.accesses / 32 * (lines - 1) / 4;
      cost.elements = steps * (width * (loads + stores) + work.shared);
      // Lanes are combined in a tree, and all lanes of a vector before.
      const double levels = std::log2(std::max(1.0, lanes));
      const double loop = keep ? 2 : 12;  // of one vector; kept rows are unrolled
      cost.arithmetic = steps * (width * (work.arithmetic + reductions) + loop * passes) +
                        threads * reductions * (12 * levels + 4 * width);
      // Pieces of a row that are shorter than a sector bring what nobody asked for.
      const double sector = std::max(1.0, 32 / std::max(run, 1.0));
      const double again = std::max(0.0, loads - once.contiguous - once.scattered) * element *
                           static_cast<double>(rows) * static_cast<double>(cols);
      cost.memory_bytes = bytes * std::min(sector, 4.0);
      cost.cache_bytes = (bytes + again) * sector;
      // Unrolled loops have all their loads in flight, others those that the compiler unrolls.
      const double together = std::min(iterations, keep ? 16.0 : 4.0);
      const double streams = std::max(1.0, once.contiguous + once.scattered);
      cost.bytes_in_flight = std::max(4.0, together * width * element * streams);
      cost.registers = 24 + width * reductions +
                       width * streams * (keep ? iterations : std::min(iterations, 4.0));
      cost.round_trips = (keep ? 1 : passes) * std::ceil(iterations / together);
      const bool in_subgroup = inner && target.subgroup_shuffle && lanes <= target.subgroup_size;
      if (lanes > 1 && !in_subgroup)
        cost.barriers = stages * (inner && target.subgroup_shuffle ? 2 : levels);
      if (cost.barriers > 0) cost.shared_bytes = cost.threads * 4 * reductions;
      cost.parallelism = std::min(8.0, width);
      return predicted_seconds(cost, target);
    };
  }

  Kernel lower(const Region& region, const Config& config, const Target&) const override {
    ReductionPlan plan = *plan_reduction(region);
    return Lowering(region, plan, config).run();
  }
};

}  // namespace

const Template& reduction_template() {
  static const Reduction instance;
  return instance;
}

}  // namespace tcc::sched
