#include "scheduler/templates/reduction_lowering.h"

#include <algorithm>
#include <functional>
#include <set>
#include <span>

#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;
using ir::ReduceKind;

// The exponents below a row's maximum: exp(x - max).
bool is_exp_below(const Expr& e, const Expr& x, const Variable& max) {
  if (e->kind != ExprNode::Kind::call || e->fn != Fn::exp) return false;
  const Expr& d = e->args[0];
  if (d->kind != ExprNode::Kind::call || d->fn != Fn::sub || d->args[0] != x) return false;
  return d->args[1]->kind == ExprNode::Kind::var && d->args[1]->variable == max;
}

// The variables of a reduction.
struct Result {
  ReduceKind kind;
  Variable variable;  // the row's result
  Variable value;     // argmax and argmin: the value that stands there
  Variable lanes;     // one sum per element of a vector

  const Variable& of_steps() const { return ir::is_arg(kind) ? value : variable; }
  std::vector<Variable> variables() const {
    return ir::is_arg(kind) ? std::vector{value, variable} : std::vector{variable};
  }
};

class Lowering {
 public:
  Lowering(const Region& region, const ReductionPlan& plan, const Config& config,
           const Target& target)
      : region_(region),
        plan_(plan),
        inliner_(region),
        width_(config["vector"]),
        cluster_(cluster_of(config)),
        group_threads_(config["row_threads"]),
        row_threads_(group_threads_ * cluster_),
        block_rows_(config["rows"]),
        cached_(config["keep"] != 0),
        early_(config["keep"] == 2),
        wide_rows_(!plan.inner && width_ > 1),
        indexed_registers_(target.indexed_registers) {
    v_ = SymInt::axis("v", width_);
    lane_ = SymInt::axis("lane", row_threads_);
    row_groups_ = wide_rows_ ? floordiv(plan.rows, width_) : plan.rows;
    row_group_ = SymInt::axis(wide_rows_ ? "rows" : "row", row_groups_);
    row_ = wide_rows_ ? row_group_ * width_ + v_ : row_group_;
    groups_ = wide_rows_ ? plan.cols : plan.cols / width_;
    group_ = SymInt::axis("group", std::max<int64_t>(groups_, 1));
    col_ = wide_rows_ ? group_ : group_ * width_ + v_;
    iterations_ = ceil_div(groups_, row_threads_);
    iteration_ = SymInt::axis("e", std::max<int64_t>(iterations_, 1));
    for (const auto& reduction : plan.reductions) {
      const Variable& result = reduction.result;
      const DType of_input = compute_dtype(reduction.node->inputs[0]->dtype());
      results_.push_back({*reduction.node->op->reduction, result,
                          ir::new_variable(result.name + "_value", of_input),
                          ir::new_variable(result.name + "_lane", result.dtype)});
    }
  }

  Kernel run() {
    Kernel kernel = start_kernel(region_);
    kernel.workgroup = static_cast<int>(group_threads_ * block_rows_);
    kernel.cluster = static_cast<int>(cluster_);
    kernel.grid = blocks_of(row_groups_, block_rows_) * cluster_;
    for (const auto& reduction : plan_.reductions)
      kernel.flops += static_cast<double>(usual_numel(reduction.node->inputs[0]));
    bind_results();
    body_ = &kernel.body;
    place_threads(kernel);
    collect();
    // One exchange of a cluster does for both, then.
    const bool kept_pair = cached_ && !early_ && cluster_ > 1;
    const bool online = groups_ > 0 && (!cached_ || kept_pair) && has_online_pair();
    if (cached_ && !online) choose_cached();
    if (online) {
      reduce_online();
    } else {
      for (int stage = 0; stage < plan_.stages; ++stage) reduce_stage(stage);
    }
    write_outputs();
    return kernel;
  }

  // The region's only reductions are a maximum of x and a sum of exp(x - maximum), in f32.
  bool has_online_pair() {
    if (!plan_.inner || plan_.reductions.size() != 2 || plan_.stages != 2) return false;
    const auto &max = plan_.reductions[0], &sum = plan_.reductions[1];
    if (*max.node->op->reduction != ReduceKind::max || *sum.node->op->reduction != ReduceKind::sum)
      return false;
    const Expr &x = stage_values_[0][0], &term = stage_values_[1][0];
    return x->dtype == DType::f32 && is_exp_below(term, x, max.result);
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

  void bind_results() {
    if (!wide_rows_) return bind_reductions(inliner_, plan_, row_);
    // The result of each of the thread's rows; that only the row's own is asked for was found when
    // the region was planned.
    for (const auto& reduction : plan_.reductions) {
      Expr result = ir::element(reduction.result, v_);
      inliner_.bind(reduction.node->outputs[0], [=](std::span<const SymInt>) { return result; });
    }
  }

 private:
  void place_threads(const Kernel& kernel) {
    SymInt block = block_axis(kernel.grid), thread = thread_axis(kernel.workgroup);
    SymInt of_row = plan_.inner ? floordiv(thread, group_threads_) : mod(thread, block_rows_);
    SymInt of_lane = plan_.inner ? mod(thread, group_threads_) : floordiv(thread, block_rows_);
    // The lanes of a row are the threads of all workgroups of its cluster.
    if (cluster_ > 1) of_lane = of_lane + mod(block, cluster_) * group_threads_;
    raw_row_ = floordiv(block, cluster_) * block_rows_ + of_row;
    if (!lane_.is_const()) body_->push_back(let_index(lane_, of_lane));
    // Threads past the last row repeat it, since all must arrive at barriers, and write nothing.
    if (!row_group_.is_const())
      body_->push_back(let_index(row_group_, ir::min(raw_row_, row_groups_ - 1)));
  }

  bool depends_on_column(const Expr& e) {
    bool result = false;
    const auto uses = [](const SymInt& index, const SymInt& axis) {
      return axis.as_atom() && index.uses(axis.as_atom());
    };
    ir::visit(e, [&](const Expr& node) {
      if (node->kind == ExprNode::Kind::index || node->kind == ExprNode::Kind::load)
        result |= uses(node->index, group_) || (!wide_rows_ && uses(node->index, v_));
    });
    return result;
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

  SymInt cache_index() const { return iteration_ * width_ + v_; }

  // Replaces what earlier stages kept.
  void use_kept(std::vector<Expr>& values, size_t stage) {
    ir::rewrite_all(values, [&](const Expr& e) -> Expr {
      auto found = cache_.find(e.get());
      if (found == cache_.end() || first_stage_.at(e.get()) >= stage) return nullptr;
      return ir::element(found->second, cache_index());
    });
  }

  // Gives what a thread does with its `iteration`-th vector of columns.
  Block vector_of_row(const SymInt& iteration, Block columns, Block otherwise = {}) const {
    const SymInt at = iteration * row_threads_ + lane_;
    Block inner;
    if (!group_.is_const()) inner.push_back(let_index(group_, at));
    append(inner, std::move(columns));
    if (Expr inside = ir::index_less(at, groups_); !ir::is_true(inside))
      inner = {branch(inside, std::move(inner), std::move(otherwise))};
    return inner;
  }

  // Vectors that a thread loads before it uses the first one, where the row is not kept.
  int64_t together() const {
    bool serial = indexed_registers_;
    for (const auto& values : stage_values_)
      for (const Expr& value : values)
        ir::visit(value, [&](const Expr& e) { serial |= e->kind == ExprNode::Kind::reduce; });
    return serial ? 1 : width_ >= 8 ? 4 : 8;
  }

  // A row in pieces of `step` vectors of each thread: `piece` gets the number of the first vector
  // and their count. All but the last piece are whole, for all threads.
  Block in_pieces(int64_t step, const std::function<Block(const SymInt&, int64_t)>& piece) const {
    const int64_t whole = groups_ / row_threads_ / step;
    const SymInt number = SymInt::axis("piece", std::max<int64_t>(whole, 1));
    Block block;
    if (whole > 0) block.push_back(loop(number, piece(number * step, step)));
    if (const int64_t rest = iterations_ - whole * step; rest > 0)
      block.push_back(loop(SymInt::axis("last", 1), piece(whole * step, rest)));
    return block;
  }

  // A row's loop: `columns` is what a thread does with one vector of columns.
  Block over_row(const Block& columns) const {
    if (cached_) return {loop(iteration_, vector_of_row(iteration_, columns), true)};
    if (together() == 1) return {loop(iteration_, vector_of_row(iteration_, columns))};
    return in_pieces(together(), [&](const SymInt& first, int64_t count) -> Block {
      const SymInt e = SymInt::axis("e", count);
      return {loop(e, vector_of_row(first + e, columns), true)};
    });
  }

  // Runs `body` for every column of this thread: values are one lane's.
  void for_columns(size_t stage, std::vector<Expr> values,
                   const std::function<Block(const std::vector<Expr>&)>& body) {
    if (plan_.cols == 0) return;
    std::vector<Expr> kept_now;
    for (const Expr& e : cached_exprs_)
      if (first_stage_.at(e.get()) == stage) kept_now.push_back(e);
    for (const Expr& e : kept_now)
      body_->push_back(array(cache_.at(e.get()), iterations_ * width_));
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
      body_->push_back(declare(result.variable, ir::constant_int(DType::i64, plan_.cols)));
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
    if (width_ == 1) return combine(result.kind, {result.variable}, {value});
    const Variable& sums = accumulators(result);
    return {set_element(sums, v_, combine_values(result.kind, ir::element(sums, v_), value))};
  }

  void finish(const Result& result) {
    if (wide_rows_) return finish_rows(result);
    if (!ir::is_arg(result.kind) && width_ > 1) fold_lanes(result);
    over_threads(result.kind, result.variables());
  }

  void fold_lanes(const Result& result) {
    body_->push_back(declare(result.variable, ir::element(result.lanes, 0)));
    for (int64_t v = 1; v < width_; ++v)
      append(*body_, combine(result.kind, {result.variable}, {ir::element(result.lanes, v)}));
  }

  void finish_rows(const Result& result) {
    if (row_threads_ == 1) return;
    for (int64_t v = 0; v < width_; ++v) {
      const Variable row = ir::new_variable(result.variable.name + "_row", result.variable.dtype);
      body_->push_back(declare(row, ir::element(result.variable, v)));
      over_threads(result.kind, {row});
      body_->push_back(set_element(result.variable, v, ir::read(row)));
    }
  }

  void over_threads(ReduceKind kind, const std::vector<Variable>& variables) {
    if (group_threads_ == 1) return;
    body_->push_back(reduce_lanes(kind, variables, group_threads_, plan_.inner ? 1 : block_rows_));
  }

  // Shared arrays with the variables of all workgroups of the cluster, by rank. Words are gathered:
  // a smaller type widens.
  std::vector<Variable> gather(const std::vector<Variable>& variables) {
    std::vector<Variable> arrays;
    for (const Variable& variable : variables) {
      const DType word = size_bytes(variable.dtype) < 4 ? DType::i32 : variable.dtype;
      arrays.push_back(ir::new_variable(variable.name + "_of", word));
      body_->push_back(gather_cluster(arrays.back(), variable, cluster_));
    }
    return arrays;
  }

  // Combines what all workgroups of the cluster have found, by rank: all get the same bits.
  void over_ranks(ReduceKind kind, const std::vector<Variable>& variables,
                  std::span<const Variable> gathered) {
    auto found = [&](const SymInt& rank) {
      std::vector<Expr> values;
      for (size_t i = 0; i < variables.size(); ++i)
        values.push_back(ir::cast(ir::element(gathered[i], rank), variables[i].dtype));
      return values;
    };
    const std::vector<Expr> first = found(0);
    for (size_t i = 0; i < variables.size(); ++i) body_->push_back(assign(variables[i], first[i]));
    const SymInt rank = SymInt::axis("rank", cluster_ - 1);
    body_->push_back(loop(rank, combine(kind, variables, found(rank + 1)), true));
  }

  // All reductions of a stage at once: one exchange.
  void over_cluster(const std::vector<const Result*>& results) {
    if (cluster_ == 1) return;
    std::vector<std::vector<Variable>> gathered;
    for (const Result* result : results) gathered.push_back(gather(result->variables()));
    for (size_t i = 0; i < results.size(); ++i)
      over_ranks(results[i]->kind, results[i]->variables(), gathered[i]);
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
    for (const Result* result : now) finish(*result);
    over_cluster(now);
  }

  // The maximum and the sum of exp(x - maximum) in one pass: a sum is scaled down when its thread
  // finds a larger maximum, once per piece of a row, and once more when all threads have theirs.
  // M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax" (2018).
  // A kept row is one piece, whose terms the outputs take: a factor of each thread makes them those
  // of the row.
  void reduce_online() {
    const DType f32 = DType::f32;
    const Variable &max = results_[0].variable, &sum = results_[1].variable;
    const Expr top = ir::read(max), total = ir::read(sum);
    body_->push_back(declare(max, identity_value(ReduceKind::max, f32)));
    body_->push_back(declare(sum, ir::constant(f32, 0)));
    std::vector<Expr> values = stage_values_[0];
    const bool terms = cached_ && use_terms();
    // Outputs of 16 bits do not show the difference.
    const Fn term = !terms || stores_16_bits() ? Fn::exp_term : Fn::exp;
    append(*body_, hoist_invariants(values, {group_, v_, iteration_}));
    auto piece = [&](const SymInt& first, int64_t count) {
      const SymInt e = SymInt::axis("e", count), at = e * width_ + v_;
      auto each = [&](Block body) { return loop(e, {loop(v_, std::move(body), true)}, true); };
      const Variable partial = ir::new_variable("part", f32),
                     higher_of = ir::new_variable("higher", f32),
                     base_of = ir::new_variable("base", f32);
      auto part = [&](const SymInt& i) { return ir::element(partial, i); };
      Block load = vectorize_values(values, v_, [&](const std::vector<Expr>& x) {
        return Block{set_element(x_at_, at, x[0])};
      });
      Block none = {loop(v_, {set_element(x_at_, at, identity_value(ReduceKind::max, f32))}, true)};
      Block block = {
          array(x_at_, count * width_),
          loop(e, vector_of_row(first + e, std::move(load), std::move(none)), true),
          array(partial, width_),
          loop(v_, {set_element(partial, v_, ir::element(x_at_, v_))}, true),
          each({set_element(partial, v_,
                            combine_values(ReduceKind::max, part(v_), ir::element(x_at_, at)))}),
          declare(higher_of, top),
      };
      for (int64_t v = 0; v < width_; ++v)
        append(block, combine(ReduceKind::max, {higher_of}, {part(v)}));
      const Expr higher = ir::read(higher_of), base = ir::read(base_of);
      block.push_back(declare(base_of, exponent_base(higher)));
      block.push_back(assign(sum, ir::mul(total, exp_term(top, base))));
      block.push_back(assign(max, higher));
      block.push_back(loop(v_, {set_element(partial, v_, ir::constant(f32, 0))}, true));
      Block each_term;
      Expr value = ir::call(term, {ir::sub(ir::element(x_at_, at), base)});
      if (terms) {
        block.push_back(array(terms_, count * width_));
        each_term.push_back(set_element(terms_, at, value));
        value = ir::element(terms_, at);
      }
      each_term.push_back(set_element(partial, v_, ir::add(part(v_), value)));
      block.push_back(each(std::move(each_term)));
      for (int64_t v = 0; v < width_; ++v)
        append(block, combine(ReduceKind::sum, {sum}, {part(v)}));
      return block;
    };
    if (cached_)
      append(*body_, piece(0, iterations_));
    else
      append(*body_,
             in_pieces(std::max<int64_t>(1, (indexed_registers_ ? 8 : 32) / width_), piece));
    const Variable own_max = ir::new_variable("own", f32),
                   row_base = ir::new_variable("row_base", f32);
    const Expr own = ir::read(own_max), base = ir::read(row_base);
    body_->push_back(declare(own_max, top));
    over_threads(ReduceKind::max, {max});
    body_->push_back(declare(row_base, exponent_base(top)));
    body_->push_back(assign(sum, ir::mul(total, exp_term(own, base))));
    over_threads(ReduceKind::sum, {sum});
    if (cluster_ > 1) {
      const std::vector<Variable> gathered = gather({max, sum});
      over_ranks(ReduceKind::max, {max}, gathered);
      body_->push_back(assign(row_base, exponent_base(top)));
      body_->push_back(assign(sum, ir::constant(f32, 0)));
      const SymInt rank = SymInt::axis("rank", cluster_);
      const Expr below = exp_term(ir::element(gathered[0], rank), base);
      const Expr part = ir::mul(ir::element(gathered[1], rank), below);
      body_->push_back(loop(rank, combine(ReduceKind::sum, {sum}, {part}), true));
    }
    // If the maximum is infinite, there is no sum: inf - inf.
    body_->push_back(assign(sum, ir::add(total, ir::sub(top, top))));
    if (terms) body_->push_back(declare(factor_, ir::call(term, {ir::sub(own, base)})));
  }

  // The outputs as what they are of the terms of a kept row, or of the row itself; whether any is
  // of the terms.
  bool use_terms() {
    const Expr &x = stage_values_[0][0], &term = stage_values_[1][0];
    const Expr factor = ir::read(factor_);
    const Expr kept = ir::element(terms_, cache_index());
    bool found = false;
    ir::rewrite_all(full_values_, [&](const Expr& e) -> Expr {
      if (e->kind == ExprNode::Kind::call && e->fn == Fn::mul)
        for (const int i : {0, 1})
          if (e->args[i] == term && !depends_on_column(e->args[1 - i])) {
            found = true;
            return ir::mul(kept, ir::mul(factor, e->args[1 - i]));
          }
      if (e != term) return nullptr;
      found = true;
      return ir::mul(kept, factor);
    });
    cache_[x.get()] = x_at_;
    first_stage_[x.get()] = 0;
    return found;
  }

  bool stores_16_bits() const {
    return std::all_of(plan_.outputs.begin(), plan_.outputs.end(), [](const auto& output) {
      return !output.full || is_low_precision(output.value->dtype());
    });
  }

  // Returns the number that is subtracted from exponents: 0 for a maximum of -inf, which would make
  // them NaN.
  static Expr exponent_base(const Expr& max) {
    const Expr nothing = identity_value(ReduceKind::max, DType::f32);
    return ir::select(ir::call(Fn::eq, {max, nothing}), ir::constant(DType::f32, 0), max);
  }

  static Expr exp_term(const Expr& x, const Expr& base) {
    return ir::call(Fn::exp_term, {ir::sub(x, base)});
  }

  void write_outputs() {
    Block* outer = body_;
    Block guarded;
    bool guard = !row_groups_.divisible_by(block_rows_);
    if (guard) body_ = &guarded;
    write_full();
    write_rows();
    body_ = outer;
    if (guard) body_->push_back(branch(ir::index_less(raw_row_, row_groups_), std::move(guarded)));
  }

  void write_rows() {
    std::vector<Sink> sinks;
    for (const auto& output : plan_.outputs) {
      if (output.full) continue;
      std::vector<SymInt> base = output_base_index(plan_, output, row_, col_);
      SymInt offset = region_.layout(output.value).offset(output.stored.output_index(base));
      sinks.push_back({region_.slot_of_output(output.value),
                       {},
                       offset,
                       inliner_.value_at(output.stored.base, base)});
    }
    if (sinks.empty()) return;
    Block rows;
    if (wide_rows_) {
      rows = vectorize(sinks, v_);
    } else {
      for (const Sink& sink : sinks) rows.push_back(store(sink.buffer, sink.offset, sink.value));
    }
    if (!lane_.is_const())
      rows = {
          branch(ir::call(Fn::eq, {ir::index_value(lane_), ir::index_value(0)}), std::move(rows))};
    append(*body_, std::move(rows));
  }

  void write_full() {
    if (full_values_.empty() || plan_.cols == 0) return;
    size_t stage = stage_values_.size();
    std::vector<Sink> sinks;
    std::vector<Expr> values = full_values_;
    use_kept(values, stage);
    append(*body_, hoist_invariants(values, {group_, v_, iteration_}));
    size_t next = 0;
    for (const auto& output : plan_.outputs) {
      if (!output.full) continue;
      std::vector<SymInt> base = output_base_index(plan_, output, row_, col_);
      SymInt offset = region_.layout(output.value).offset(output.stored.output_index(base));
      sinks.push_back({region_.slot_of_output(output.value), {}, offset, values[next++]});
    }
    append(*body_, over_row(vectorize(sinks, v_)));
  }

  const Region& region_;
  const ReductionPlan& plan_;
  Inliner inliner_;
  int64_t width_;
  int64_t cluster_;        // workgroups that share a row
  int64_t group_threads_;  // that share a row, of a workgroup
  int64_t row_threads_;    // of all workgroups
  int64_t block_rows_;
  bool cached_;
  bool early_;      // what only the outputs read is loaded with the first stage
  bool wide_rows_;  // a vector is of neighbouring rows: all threads of a row take each its columns
  bool indexed_registers_;
  SymInt row_groups_ = 0;
  int64_t groups_ = 0, iterations_ = 0;
  SymInt row_, row_group_, raw_row_, lane_, group_, v_, iteration_, col_;
  Block* body_ = nullptr;
  std::vector<std::vector<Expr>> stage_values_;
  std::vector<Expr> full_values_;
  std::map<const ExprNode*, Variable> cache_;
  std::map<const ExprNode*, size_t> first_stage_;
  std::vector<Expr> cached_exprs_;
  std::vector<Expr> early_loads_;
  std::vector<Result> results_;  // of the plan's reductions
  // A row that is reduced in one pass keeps its elements, their exponentials below the thread's
  // maximum, and the factor that makes those exponentials below the row's.
  Variable x_at_ = ir::new_variable("x_at", DType::f32),
           terms_ = ir::new_variable("terms", DType::f32),
           factor_ = ir::new_variable("factor", DType::f32);
};

}  // namespace

int64_t cluster_of(const Config& config) { return config.has("cluster") ? config["cluster"] : 1; }

Kernel lower_reduction(const Region& region, const ReductionPlan& plan, const Config& config,
                       const Target& target) {
  return Lowering(region, plan, config, target).run();
}

bool is_online(const Region& region, const ReductionPlan& plan) {
  Lowering lowering(region, plan, {{"row_threads", 1}, {"rows", 1}, {"vector", 1}, {"keep", 0}},
                    Target());
  lowering.bind_results();
  lowering.collect();
  return lowering.has_online_pair();
}

}  // namespace tcc::sched
