#include "scheduler/templates/attention_score.h"

#include <cmath>

#include "scheduler/axis_use.h"
#include "scheduler/templates/index_sum.h"

namespace tcc::sched {
namespace {

using ir::Expr;
using ir::Fn;
using ir::SymInt;
using Kind = ir::ExprNode::Kind;

bool is_minus_infinity(const Expr& e) {
  return e->kind == Kind::constant && is_float(e->dtype) && std::isinf(e->number) && e->number < 0;
}

std::optional<double> positive_number(const Expr& e) {
  if (e->kind != Kind::constant || !is_float(e->dtype)) return std::nullopt;
  return e->number > 0 && std::isfinite(e->number) ? std::optional(e->number) : std::nullopt;
}

Expr both_conditions(const Expr& a, const Expr& b) {
  if (!a) return b;
  return b ? ir::call(Fn::logical_and, {a, b}) : a;
}

// The condition of select(c, 0, -inf) or select(c, -inf, 0): a mask that is added; or null.
Expr added_condition(const Expr& e) {
  if (!is_call(e, Fn::select)) return nullptr;
  const Expr &c = e->args[0], &a = e->args[1], &b = e->args[2];
  if (ir::is_const(a, 0) && is_minus_infinity(b)) return c;
  if (is_minus_infinity(a) && ir::is_const(b, 0)) return ir::call(Fn::logical_not, {c});
  return nullptr;
}

}  // namespace

MaskedScore take_masks_off(const Expr& score) {
  if (score->kind != Kind::call) return {score, nullptr};
  const auto& args = score->args;
  if (score->fn == Fn::select) {
    for (const bool first : {true, false}) {
      if (!is_minus_infinity(args[first ? 2 : 1])) continue;
      const MaskedScore inner = take_masks_off(args[first ? 1 : 2]);
      return {inner.value,
              both_conditions(inner.seen, first ? args[0] : ir::call(Fn::logical_not, {args[0]}))};
    }
    return {score, nullptr};
  }
  if (score->fn == Fn::mul || score->fn == Fn::div)
    for (const size_t x : {0, 1}) {
      if (!positive_number(args[1 - x]) || (score->fn == Fn::div && x == 1)) continue;
      const MaskedScore inner = take_masks_off(args[x]);
      if (!inner.seen) return {score, nullptr};
      return {
          score->fn == Fn::mul ? ir::mul(inner.value, args[1 - x]) : ir::div(inner.value, args[1]),
          inner.seen};
    }
  if (score->fn == Fn::add)
    for (const size_t x : {0, 1})
      if (const Expr seen = added_condition(args[1 - x])) {
        const MaskedScore inner = take_masks_off(args[x]);
        return {inner.value, both_conditions(inner.seen, seen)};
      }
  return {score, nullptr};
}

std::optional<double> factor_of(const Expr& value, const ir::Variable& raw) {
  if (value->kind == Kind::var && value->variable == raw) return 1;
  if (is_call(value, Fn::mul))
    for (const size_t x : {0, 1}) {
      const Expr& number = value->args[1 - x];
      if (number->kind != Kind::constant) continue;
      const auto inner = factor_of(value->args[x], raw);
      return inner ? std::optional(*inner * number->number) : std::nullopt;
    }
  if (is_call(value, Fn::div) && value->args[1]->kind == Kind::constant) {
    const auto inner = factor_of(value->args[0], raw);
    return inner ? std::optional(*inner / value->args[1]->number) : std::nullopt;
  }
  return std::nullopt;
}

namespace {

class Bounds {
 public:
  // With `by_query`, the bounds are those of one query, and expressions of it.
  Bounds(const SymInt& query, const SymInt& key, const SymInt& first_query,
         const SymInt& last_query, const SymInt& keys, bool by_query = false)
      : query_(query),
        key_(key),
        first_(first_query),
        last_(last_query),
        keys_(keys),
        by_query_(by_query) {}

  KeyRange of(const Expr& seen, bool negated = false) {
    if (seen->kind == Kind::constant) return (seen->integer != 0) != negated ? all() : none();
    if (seen->kind != Kind::call) return by_number(seen, negated);
    const auto& args = seen->args;
    switch (seen->fn) {
      case Fn::logical_not: return of(args[0], !negated);
      case Fn::logical_and:
      case Fn::logical_or: {
        const KeyRange a = of(args[0], negated), b = of(args[1], negated);
        return (seen->fn == Fn::logical_and) != negated ? both(a, b) : either(a, b);
      }
      case Fn::lt: return negated ? less(args[1], args[0], 1) : less(args[0], args[1], 0);
      case Fn::le: return negated ? less(args[1], args[0], 0) : less(args[0], args[1], 1);
      case Fn::gt: return negated ? less(args[0], args[1], 1) : less(args[1], args[0], 0);
      case Fn::ge: return negated ? less(args[0], args[1], 0) : less(args[1], args[0], 1);
      case Fn::eq:
        if (negated) return by_number(seen, negated);
        return both(less(args[0], args[1], 1), less(args[1], args[0], 1));
      default: return by_number(seen, negated);
    }
  }
  // Conditions that gave no bounds.
  int unknowns() const { return unknowns_; }

 private:
  KeyRange all() const { return {0, keys_, 0, keys_}; }
  KeyRange none() const { return {0, 0, 0, 0}; }
  KeyRange unknown() {
    ++unknowns_;
    return {0, keys_, 0, 0};
  }
  // A condition that is the same for all keys.
  KeyRange by_number(const Expr& seen, bool negated) {
    if (!is_uniform(seen)) return unknown();
    const SymInt number = SymInt::indirect("bound", ir::cast(seen, DType::i64), {0, 1});
    const auto [first, end] = positive(0, negated ? 1 - number : number);
    return {first, end, first, end};
  }

  static KeyRange both(const KeyRange& a, const KeyRange& b) {
    return {max(a.first, b.first), min(a.end, b.end), max(a.inside_first, b.inside_first),
            min(a.inside_end, b.inside_end)};
  }
  // The parts inside are one range where both begin at the same key; else one of them counts.
  static KeyRange either(const KeyRange& a, const KeyRange& b) {
    KeyRange range = {min(a.first, b.first), max(a.end, b.end), a.inside_first, a.inside_end};
    if (a.inside_first == b.inside_first)
      range.inside_end = max(a.inside_end, b.inside_end);
    else if (a.inside_end.is(0))
      range.inside_first = b.inside_first, range.inside_end = b.inside_end;
    return range;
  }

  // Whether the value is the same for all keys, and for all queries where there are several.
  bool is_uniform(const Expr& e) {
    const auto depends = [&](const SymInt& axis) {
      return !axis.is_const() && use_.of(e).free.contains(axis.as_atom());
    };
    return !depends(key_) && (by_query_ || !depends(query_));
  }

  // A value as a multiple of an axis and a rest that does not depend on it.
  struct Linear {
    int64_t factor;
    SymInt rest;
  };
  static std::optional<Linear> linear(const SymInt& value, const SymInt& axis) {
    if (axis.is_const()) return Linear{0, value};
    int64_t factor = 0;
    for (const SymInt::Term& term : value.terms())
      if (term.atoms.size() == 1 && *term.atoms[0] == *axis.as_atom()) factor = term.coefficient;
    SymInt rest = value - axis * factor;
    if (rest.uses(axis.as_atom())) return std::nullopt;
    return Linear{factor, std::move(rest)};
  }

  SymInt clamped(const SymInt& bound) const { return min(max(bound, 0), keys_); }

  // The keys for which factor * key + rest > 0.
  std::pair<SymInt, SymInt> positive(int64_t factor, const SymInt& rest) const {
    if (factor < 0) return {0, clamped(ir::ceildiv(rest, -factor))};
    if (factor > 0) return {clamped(floordiv(-rest, factor) + 1), keys_};
    return {0, clamped(min(max(rest, 0), 1) * keys_)};
  }

  // Sums that are positive where some key of a tile may be seen, and where every key is: they
  // differ where arithmetic of the mask may have wrapped.
  struct Sign {
    SymInt any, every;
  };
  // A number that is further away than any key is as good as the nearest such number.
  static Sign sign_of(const IndexSum& sum) {
    if (!sum.number) return Sign{sum.axes, sum.axes};
    // Axes reach no further than half as far.
    IndexSum moved = sum;
    int64_t far = int64_t{1} << 30;
    const ir::Interval axes = sum.axes.range();
    if (axes.lo < -far / 2 || axes.hi > far / 2) {
      if (axes.hi - axes.lo <= far / 2) {
        moved.axes = sum.axes - axes.lo;
        moved.number = ir::call(Fn::add, {sum.number, ir::constant_int(DType::i64, axes.lo)});
      } else {
        far = int64_t{1} << 42;
      }
    }
    const auto bound = [&](const Expr& number) {
      return SymInt::indirect("bound", number, {-far, far});
    };
    const Expr number = moved.clamped_number(far);
    if (!sum.safe) {
      const SymInt value = moved.axes + bound(number);
      return Sign{value, value};
    }
    const auto or_else = [&](int64_t otherwise) {
      return moved.axes +
             bound(ir::select(sum.safe, number, ir::constant_int(DType::i64, otherwise)));
    };
    return Sign{or_else(far), or_else(-far)};
  }

  // a < b + more
  KeyRange less(const Expr& a, const Expr& b, int64_t more) {
    const auto is_number = [&](const Expr& e) { return is_uniform(e); };
    const auto low = index_sum(a, is_number), high = index_sum(b, is_number);
    if (!low || !high) return unknown();
    auto sum = difference(*high, *low);
    if (!sum) return unknown();
    sum->axes = sum->axes + more;
    const Sign sign = sign_of(*sum);
    const auto any_key = linear(sign.any, key_), every_key = linear(sign.every, key_);
    if (!any_key || !every_key) return unknown();
    if (by_query_) {
      const auto any = positive(any_key->factor, any_key->rest),
                 every = positive(every_key->factor, every_key->rest);
      return {any.first, any.second, every.first, every.second};
    }
    const auto any_query = linear(any_key->rest, query_),
               every_query = linear(every_key->rest, query_);
    if (!any_query || !every_query) return unknown();
    const bool rises = any_query->factor > 0;
    const auto at = [&](const Linear& of, const SymInt& query) {
      return of.factor * query + of.rest;
    };
    const auto any = positive(any_key->factor, at(*any_query, rises ? last_ : first_)),
               every = positive(every_key->factor, at(*every_query, rises ? first_ : last_));
    return {any.first, any.second, every.first, every.second};
  }

  SymInt query_, key_, first_, last_;
  SymInt keys_;
  bool by_query_;
  int unknowns_ = 0;
  AxisUse use_;
};

}  // namespace

KeyRange keys_seen(const Expr& seen, const SymInt& query, const SymInt& key,
                   const SymInt& first_query, const SymInt& last_query, const SymInt& keys) {
  if (!seen) return {0, keys, 0, keys};
  return Bounds(query, key, first_query, last_query, keys).of(seen);
}

KeyRange keys_seen(const Expr& seen, const SymInt& query, const SymInt& key, const SymInt& keys) {
  if (!seen) return {0, keys, 0, keys};
  return Bounds(query, key, query, query, keys, true).of(seen);
}

bool bounds_depend_on_queries(const Expr& seen, const SymInt& query, const SymInt& key,
                              const SymInt& keys) {
  if (!seen) return false;
  Bounds of_one(query, key, query, query, keys, true), of_several(query, key, 0, 0, keys);
  of_one.of(seen);
  of_several.of(seen);
  return of_one.unknowns() < of_several.unknowns();
}

}  // namespace tcc::sched
