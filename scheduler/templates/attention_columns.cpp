#include "scheduler/templates/attention_columns.h"

#include <algorithm>
#include <cmath>

#include "ir/bit_cast.h"
#include "scheduler/axis_use.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;

constexpr int64_t kExact = int64_t{1} << 24;  // f32 holds all integers up to it

bool is_f32_call(const Expr& e, Fn fn) { return is_call(e, fn) && e->dtype == DType::f32; }

class Columns {
 public:
  Columns(const AttentionPlan& plan, const SymInt& first, const SymInt& column)
      : plan_(plan), first_(first), column_(column) {}

  Expr of(const Expr& e) {
    if (plan_.key.is_const()) return e;
    return ir::rewrite(e, [&](const Expr& node) -> Expr {
      if (!depends(node)) return node;
      if (node->dtype != DType::f32) return nullptr;
      const std::optional<Expr> slope = slope_of(node);
      if (!slope) return nullptr;
      const Expr at_first = at(node);
      const Expr column = ir::cast(ir::index_value(column_), DType::f32);
      if (ir::is_const(*slope, 1)) return ir::add(at_first, column);
      return ir::call(Fn::fma, {*slope, column, at_first});
    });
  }

 private:
  bool depends(const Expr& e) { return use_.of(e).free.contains(plan_.key.as_atom()); }

  Expr at(const Expr& e) const {
    return ir::rewrite(
        e, [](const Expr&) { return Expr(); },
        [&](const SymInt& index) { return index.substitute(plan_.key, first_); });
  }

  bool has_raw(const Expr& e) const {
    bool found = false;
    ir::visit(e, [&](const Expr& node) {
      found |= node->kind == ExprNode::Kind::var && node->variable == plan_.raw;
    });
    return found;
  }

  static bool is_exact(const SymInt& index) {
    const ir::Interval range = index.range();
    return range.lo > -kExact && range.hi < kExact;
  }

  // How much the value grows from one key to the next, where that is the same for all: null where
  // it does not depend on the key, nothing where it is not linear.
  std::optional<Expr> slope_of(const Expr& e) {
    if (has_raw(e)) return std::nullopt;
    if (!depends(e)) return Expr();
    const auto& args = e->args;
    if (e->kind == ExprNode::Kind::cast) {
      if (ir::keeps_bits(*e) || args[0]->kind != ExprNode::Kind::index) return std::nullopt;
      const SymInt& index = args[0]->index;
      const SymInt step = index.substitute(plan_.key, plan_.key + 1) - index;
      if (!step.is_const() || !is_exact(index) || !is_exact(index.substitute(plan_.key, first_)))
        return std::nullopt;
      return ir::constant(DType::f32, static_cast<double>(step.value()));
    }
    if (e->kind != ExprNode::Kind::call || e->dtype != DType::f32) return std::nullopt;
    if (e->fn == Fn::neg) {
      const auto slope = slope_of(args[0]);
      return slope ? std::optional(ir::call(Fn::neg, {*slope})) : std::nullopt;
    }
    if (e->fn != Fn::add && e->fn != Fn::sub && e->fn != Fn::mul && e->fn != Fn::div)
      return std::nullopt;
    const auto a = slope_of(args[0]), b = slope_of(args[1]);
    if (!a || !b) return std::nullopt;
    if (e->fn == Fn::add || e->fn == Fn::sub) {
      if (!*b) return a;
      const Expr other = e->fn == Fn::add ? *b : ir::call(Fn::neg, {*b});
      return *a ? ir::add(*a, other) : other;
    }
    if (*a && *b) return std::nullopt;
    if (e->fn == Fn::mul) return *a ? ir::mul(*a, args[1]) : ir::mul(args[0], *b);
    return *b ? std::nullopt : std::optional(ir::div(*a, args[1]));
  }

  const AttentionPlan& plan_;
  SymInt first_, column_;
  AxisUse use_;
};

// tanh(x) = x P(x^2) within 2^-20.2 for |x| <= kSmall.
constexpr double kSmall = 0.375;
constexpr double kTanh[] = {0.9999854, -0.332488512, 0.120988508};

// The c of tanh(c * raw); nothing where its powers are no normal numbers.
std::optional<double> factor_in_tanh(const Expr& e, const ir::Variable& raw) {
  if (!is_f32_call(e, Fn::tanh)) return std::nullopt;
  const std::optional<double> factor = factor_of(e->args[0], raw);
  const double size = factor ? std::abs(*factor) : 0;
  return size > 1e-4 && size < 1e4 ? factor : std::nullopt;
}

// Chooses between the tanh of small products and the library's, multiplied by a number.
Expr with_small_tanh(const Expr& score, const ir::Variable& raw, const Expr& small) {
  const auto chosen = [&](const Expr& e, double factor, double by) {
    const Expr x = ir::read(raw), square = ir::mul(x, x);
    Expr sum;
    for (size_t i = std::size(kTanh); i-- > 0;) {
      const Expr term = ir::constant(
          DType::f32, by * kTanh[i] * std::pow(factor, 2 * static_cast<double>(i) + 1));
      sum = sum ? ir::call(Fn::fma, {square, sum, term}) : term;
    }
    return ir::select(small, ir::mul(x, sum), e);
  };
  return ir::rewrite(score, [&](const Expr& e) -> Expr {
    if (const auto factor = factor_in_tanh(e, raw)) return chosen(e, *factor, 1);
    if (is_f32_call(e, Fn::mul))
      for (const size_t x : {0, 1}) {
        const Expr& by = e->args[1 - x];
        const auto factor = factor_in_tanh(e->args[x], raw);
        if (factor && by->kind == ExprNode::Kind::constant && std::abs(by->number) > 1e-4 &&
            std::abs(by->number) < 1e4)
          return chosen(e, *factor, by->number);
      }
    return nullptr;
  });
}

bool uses(const Expr& e, const ir::Variable& variable) {
  bool found = false;
  ir::visit(e, [&](const Expr& node) {
    found |= node->kind == ExprNode::Kind::var && node->variable == variable;
  });
  return found;
}

}  // namespace

Expr score_by_columns(const AttentionPlan& plan, const SymInt& first, const SymInt& column,
                      const Expr& small) {
  Expr score = Columns(plan, first, column).of(plan.score);
  if (small) score = with_small_tanh(score, plan.raw, small);
  return contracted(score, plan.raw);
}

std::optional<float> small_products(const AttentionPlan& plan) {
  std::optional<double> bound;
  ir::visit(plan.score, [&](const Expr& e) {
    if (const auto factor = factor_in_tanh(e, plan.raw))
      bound = std::min(bound.value_or(HUGE_VAL), kSmall / std::abs(*factor));
  });
  return bound ? std::optional(static_cast<float>(*bound)) : std::nullopt;
}

Expr contracted(const Expr& value, const ir::Variable& raw) {
  return ir::rewrite(value, [&](const Expr& e) -> Expr {
    const bool is_sum = is_f32_call(e, Fn::add), is_difference = is_f32_call(e, Fn::sub);
    if (!is_sum && !is_difference) return nullptr;
    const auto is_product = [&](size_t x) { return is_f32_call(e->args[x], Fn::mul); };
    size_t product = is_product(0) ? 0 : 1;
    if (!is_product(product)) return nullptr;
    if (is_product(0) && is_product(1) && uses(e->args[1], raw)) product = 1;
    const auto inner = [&](const Expr& part) { return contracted(part, raw); };
    const auto negated = [](const Expr& part) { return ir::call(Fn::neg, {part}); };
    Expr a = inner(e->args[product]->args[0]), other = inner(e->args[1 - product]);
    const Expr b = inner(e->args[product]->args[1]);
    if (is_difference && product == 0) other = negated(other);
    if (is_difference && product == 1) a = negated(a);
    return ir::call(Fn::fma, {a, b, other});
  });
}

}  // namespace tcc::sched
