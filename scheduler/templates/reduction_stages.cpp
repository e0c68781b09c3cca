// Reductions stage by stage: each walks the row, or what threads keep of it.
#include <algorithm>
#include <set>

#include "scheduler/templates/common.h"
#include "scheduler/templates/reduction_lowering.h"
#include "scheduler/templates/reduction_rows.h"
#include "scheduler/vectorize.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;
using ir::ReduceKind;

class ReductionStages : public ReductionRows {
 public:
  ReductionStages(const Region& region, const ReductionPlan& plan, const Config& config,
                  const Target& target)
      : ReductionRows(region, plan, config, target), early_(config["keep"] == 2) {}

 private:
  using Result = RowResult;

  void reduce() override {
    if (plan_.exponentials) use_terms();
    if (cached_) choose_cached();
    for (int stage = 0; stage < plan_.stages; ++stage) reduce_stage(stage);
  }

  // Takes the cheaper exponential for the sum, where the outputs do not show the difference.
  void use_terms() {
    const Expr exponential = stage_values_[1][0];
    if (exponential->kind != ExprNode::Kind::call || exponential->fn != Fn::exp) return;
    const auto is_it = [&](const Expr& e) { return e == exponential; };
    bool stored = false;
    for (const Expr& value : full_values_)
      ir::visit(value, [&](const Expr& e) { stored |= is_it(e); });
    if (stored && !stores_16_bits()) return;
    const Expr term = ir::call(Fn::exp_term, exponential->args);
    stage_values_[1][0] = term;
    ir::rewrite_all(full_values_, [&](const Expr& e) { return is_it(e) ? term : nullptr; });
  }

  // Finds what a stage computes per element and a later one wants again, topmost first.
  void choose_cached() {
    std::set<const ExprNode*> seen;
    for (size_t stage = 0; stage <= stage_values_.size(); ++stage) {
      const auto& values = stage < stage_values_.size() ? stage_values_[stage] : full_values_;
      std::set<const ExprNode*> visited;
      for (const Expr& value : values) find_cached(value, stage, seen, visited);
      for (const Expr& value : values)
        ir::visit(value, [&](const Expr& e) { seen.insert(e.get()); });
      for (const Expr& value : values)
        ir::visit(value, [&](const Expr& e) { first_stage_.try_emplace(e.get(), stage); });
    }
    if (early_) choose_early();
  }

  // Loads of the last stage alone: in flight while the row is reduced, not after. The loads of a
  // serial loop, which have a value per step of the loop, stay there.
  void choose_early() {
    std::set<const ExprNode*> of_loops;
    for (const Expr& value : full_values_)
      ir::visit(value, [&](const Expr& e) {
        if (e->kind != ExprNode::Kind::reduce) return;
        for (const Expr& arg : e->args)
          ir::visit(arg, [&](const Expr& inner) { of_loops.insert(inner.get()); });
      });
    for (const Expr& value : full_values_)
      ir::visit(value, [&](const Expr& e) {
        if (e->kind != ExprNode::Kind::load || !depends_on_column(e) || waits_for_reduction(e) ||
            of_loops.contains(e.get()))
          return;
        if (size_t& stage = first_stage_.at(e.get()); stage == stage_values_.size()) {
          stage = 0;
          cache_[e.get()] = ir::new_variable("early", e->dtype);
          cached_exprs_.push_back(e);
          early_loads_.push_back(e);
        }
      });
  }

  void find_cached(const Expr& e, size_t stage, const std::set<const ExprNode*>& seen,
                   std::set<const ExprNode*>& visited) {
    if (!visited.insert(e.get()).second) return;
    bool serial = e->kind == ExprNode::Kind::reduce;
    bool keepable = e->kind == ExprNode::Kind::load || e->kind == ExprNode::Kind::call ||
                    e->kind == ExprNode::Kind::cast || serial;
    if (keepable && seen.count(e.get()) && !is_low_precision(e->dtype) && depends_on_column(e)) {
      if (cache_.count(e.get())) return;
      cache_[e.get()] = ir::new_variable("kept", e->dtype);
      cached_exprs_.push_back(e);
      return;
    }
    if (serial) return;  // its body has a value per step of its own loops
    for (const Expr& arg : e->args) find_cached(arg, stage, seen, visited);
  }

  // Runs `body` for every column of this thread: values are one lane's.
  void for_columns(size_t stage, std::vector<Expr> values,
                   const std::function<Block(const std::vector<Expr>&)>& body) {
    if (plan_.columns.is(0)) return;
    std::vector<Expr> kept_now;
    for (const Expr& e : cached_exprs_)
      if (first_stage_.at(e.get()) == stage) kept_now.push_back(e);
    for (const Expr& e : kept_now)
      body_->push_back(array(cache_.at(e.get()), iterations_.value() * width_));
    auto wanted = static_cast<long>(values.size());
    values.insert(values.end(), kept_now.begin(), kept_now.end());
    use_kept(values, stage);
    append(*body_, hoist_invariants(values, {group_, v_, iteration_}));
    auto columns = vectorize_values(values, v_, [&](const std::vector<Expr>& rewritten) {
      auto middle = rewritten.begin() + wanted;
      Block block;
      for (size_t i = 0; i < kept_now.size(); ++i)
        block.push_back(
            set_element(cache_.at(kept_now[i].get()), cache_index(), middle[static_cast<long>(i)]));
      append(block, body({rewritten.begin(), middle}));
      return block;
    });
    for (Stmt& stmt : columns)
      if (stmt.kind == Stmt::Kind::load_vector) stmt.early = is_early(stmt);
    append(*body_, over_row(columns));
  }

  bool is_early(const Stmt& load) const {
    return std::any_of(early_loads_.begin(), early_loads_.end(), [&](const Expr& e) {
      return e->buffer == load.buffer && e->index.substitute(v_, 0) == load.index;
    });
  }

  // One accumulator per element of a vector: results of a row each, or independent sums of one
  // row, with less rounding than one long one.
  const Variable& accumulators(const Result& result) const {
    return wide_rows_ ? result.variable : result.lanes;
  }

  void start(const Result& result) {
    const Expr nothing = identity_value(result.kind, result.of_steps().dtype);
    if (ir::is_arg(result.kind)) {
      body_->push_back(declare(result.value, nothing));
      body_->push_back(declare(result.variable, plan_.columns.is_const()
                                                   ? ir::constant_int(DType::i64, plan_.cols)
                                                   : ir::index_value(plan_.columns)));
    } else if (width_ > 1) {
      body_->push_back(array(accumulators(result), width_));
      body_->push_back(loop(v_, {set_element(accumulators(result), v_, nothing)}, true));
    } else {
      body_->push_back(declare(result.variable, nothing));
    }
  }

  Block step(const Result& result, const Expr& value) const {
    if (ir::is_arg(result.kind))
      return combine(result.kind, result.variables(), {value, ir::index_value(col_)});
    if (width_ == 1)
      return {assign(result.variable, result.step(ir::read(result.variable), value))};
    const Variable& sums = accumulators(result);
    return {set_element(sums, v_, result.step(ir::element(sums, v_), value))};
  }

  // All threads of a row combine these: the results of a thread's rows, or that of its row.
  std::vector<Variable> of_thread(const Result& result) {
    if (!wide_rows_) {
      if (!ir::is_arg(result.kind) && width_ > 1) fold_lanes(result);
      return result.variables();
    }
    std::vector<Variable> rows;
    for (int64_t v = 0; v < width_; ++v) {
      rows.push_back(ir::new_variable(result.variable.name + "_row", result.variable.dtype));
      body_->push_back(declare(rows.back(), ir::element(result.variable, v)));
    }
    return rows;
  }

  void fold_lanes(const Result& result) {
    body_->push_back(declare(result.variable, ir::element(result.lanes, 0)));
    for (int64_t v = 1; v < width_; ++v)
      body_->push_back(assign(
          result.variable, result.step(ir::read(result.variable), ir::element(result.lanes, v))));
  }

  // All reductions of a stage at once: one exchange of a cluster.
  void finish(const std::vector<const Result*>& results) {
    if (wide_rows_ && row_threads_ == 1) return;
    std::vector<std::vector<Variable>> own, gathered;
    for (const Result* result : results) {
      own.push_back(of_thread(*result));
      over_threads(result->kind, own.back());
    }
    if (cluster_ > 1) {
      for (const auto& variables : own) gathered.push_back(gather(variables));
      for (size_t i = 0; i < results.size(); ++i) over_ranks(results[i]->kind, own[i], gathered[i]);
    }
    if (!wide_rows_) return;
    for (size_t i = 0; i < results.size(); ++i)
      for (int64_t v = 0; v < width_; ++v)
        body_->push_back(
            set_element(results[i]->variable, v, ir::read(own[i][static_cast<size_t>(v)])));
  }

  void reduce_stage(int stage) {
    std::vector<const Result*> now;
    for (size_t i = 0; i < results_.size(); ++i)
      if (plan_.reductions[i].stage == stage) now.push_back(&results_[i]);
    const auto& values = stage_values_[static_cast<size_t>(stage)];
    for (const Result* result : now) start(*result);
    for_columns(static_cast<size_t>(stage), values, [&](const std::vector<Expr>& rewritten) {
      Block block;
      for (size_t i = 0; i < now.size(); ++i) append(block, step(*now[i], rewritten[i]));
      return block;
    });
    finish(now);
  }

  const bool early_;  // what only the outputs read is loaded with the first stage
  std::vector<Expr> cached_exprs_;
  std::vector<Expr> early_loads_;
};

}  // namespace

Kernel lower_in_stages(const Region& region, const ReductionPlan& plan, const Config& config,
                       const Target& target) {
  return ReductionStages(region, plan, config, target).lower();
}

}  // namespace tcc::sched
