// The maximum of a row and the sum of its exponentials relative to it, in one pass.
#include <algorithm>

#include "scheduler/templates/common.h"
#include "scheduler/templates/reduction_lowering.h"
#include "scheduler/templates/reduction_rows.h"
#include "scheduler/vectorize.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;
using ir::ReduceKind;

class OnlineReduction : public ReductionRows {
 public:
  using ReductionRows::ReductionRows;

 private:
  // The maximum and the sum of exp(x - maximum) in one pass: a sum is scaled down when its thread
  // finds a larger maximum, once per piece of a row, and once more when all threads have theirs.
  // M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax" (2018).
  // A kept row is one piece, whose terms the outputs take: a factor of each thread makes them those
  // of the row.
  void reduce() override {
    body_->push_back(declare(max_, identity_value(ReduceKind::max, DType::f32)));
    body_->push_back(declare(sum_, ir::constant(DType::f32, 0)));
    std::vector<Expr> values = stage_values_[0];
    terms_used_ = cached_ && use_terms();
    // Outputs of 16 bits do not show the difference.
    term_ = !terms_used_ || stores_16_bits() ? Fn::exp_term : Fn::exp;
    append(*body_, hoist_invariants(values, {group_, v_, iteration_}));
    const auto piece = [&](const SymInt& first, int64_t count) {
      return reduce_piece(values, first, count);
    };
    const int64_t registers = indexed_registers_ ? 8 : 32;
    if (cached_)
      append(*body_, piece(0, iterations_.value()));
    else
      append(*body_, in_pieces(std::max<int64_t>(1, registers / width_), piece));
    combine_threads();
  }

  // A thread's maximum and sum take in `count` of its vectors of columns.
  Block reduce_piece(const std::vector<Expr>& values, const SymInt& first, int64_t count) const {
    const DType f32 = DType::f32;
    const Expr top = ir::read(max_), total = ir::read(sum_);
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
        each({set_element(partial, v_, results_[0].step(part(v_), ir::element(x_at_, at)))}),
        declare(higher_of, top),
    };
    const Expr higher = ir::read(higher_of), base = ir::read(base_of);
    for (int64_t v = 0; v < width_; ++v)
      block.push_back(assign(higher_of, results_[0].step(higher, part(v))));
    block.push_back(declare(base_of, exponent_base(higher)));
    block.push_back(assign(sum_, ir::mul(total, exp_term(top, base))));
    block.push_back(assign(max_, higher));
    block.push_back(loop(v_, {set_element(partial, v_, ir::constant(f32, 0))}, true));
    Block each_term;
    Expr value = ir::call(term_, {ir::sub(ir::element(x_at_, at), base)});
    if (terms_used_) {
      block.push_back(array(terms_, count * width_));
      each_term.push_back(set_element(terms_, at, value));
      value = ir::element(terms_, at);
    }
    each_term.push_back(set_element(partial, v_, ir::add(part(v_), value)));
    block.push_back(each(std::move(each_term)));
    for (int64_t v = 0; v < width_; ++v) append(block, combine(ReduceKind::sum, {sum_}, {part(v)}));
    return block;
  }

  // The row's maximum and sum, of those of its threads.
  void combine_threads() {
    const DType f32 = DType::f32;
    const Expr top = ir::read(max_), total = ir::read(sum_);
    const Variable own_max = ir::new_variable("own", f32),
                   row_base = ir::new_variable("row_base", f32);
    const Expr own = ir::read(own_max), base = ir::read(row_base);
    body_->push_back(declare(own_max, top));
    over_threads(ReduceKind::max, {max_});
    body_->push_back(declare(row_base, exponent_base(top)));
    body_->push_back(assign(sum_, ir::mul(total, exp_term(own, base))));
    over_threads(ReduceKind::sum, {sum_});
    if (cluster_ > 1) {
      const std::vector<Variable> gathered = gather({max_, sum_});
      over_ranks(ReduceKind::max, {max_}, gathered);
      body_->push_back(assign(row_base, exponent_base(top)));
      body_->push_back(assign(sum_, ir::constant(f32, 0)));
      const SymInt rank = SymInt::axis("rank", cluster_);
      const Expr below = exp_term(ir::element(gathered[0], rank), base);
      const Expr part = ir::mul(ir::element(gathered[1], rank), below);
      body_->push_back(loop(rank, combine(ReduceKind::sum, {sum_}, {part}), true));
    }
    // If the maximum is infinite, there is no sum: inf - inf.
    body_->push_back(assign(sum_, ir::add(total, ir::sub(top, top))));
    if (terms_used_) body_->push_back(declare(factor_, ir::call(term_, {ir::sub(own, base)})));
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

  // Returns the number that is subtracted from exponents: 0 for a maximum of -inf, which would make
  // them NaN.
  static Expr exponent_base(const Expr& max) {
    const Expr nothing = identity_value(ReduceKind::max, DType::f32);
    return ir::select(ir::call(Fn::eq, {max, nothing}), ir::constant(DType::f32, 0), max);
  }

  static Expr exp_term(const Expr& x, const Expr& base) {
    return ir::call(Fn::exp_term, {ir::sub(x, base)});
  }

  const Variable& max_ = results_[0].variable;
  const Variable& sum_ = results_[1].variable;
  bool terms_used_ = false;  // outputs take the terms of a kept row
  Fn term_ = Fn::exp_term;   // what computes a term
  // A row that is reduced in one pass keeps its elements, their exponentials below the thread's
  // maximum, and the factor that makes those exponentials below the row's.
  Variable x_at_ = ir::new_variable("x_at", DType::f32),
           terms_ = ir::new_variable("terms", DType::f32),
           factor_ = ir::new_variable("factor", DType::f32);
};

}  // namespace

Kernel lower_online(const Region& region, const ReductionPlan& plan, const Config& config,
                    const Target& target) {
  return OnlineReduction(region, plan, config, target).lower();
}

}  // namespace tcc::sched
