#include "scheduler/templates/attention_score.h"

#include <cmath>

#include "scheduler/axis_use.h"

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
    const auto number = uniform(ir::cast(seen, DType::i32));
    if (!number) return unknown();
    const auto [first, end] = positive(0, negated ? 1 - *number : *number);
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

  // A sum of multiples of axes, and of numbers that depend on neither query nor key.
  std::optional<SymInt> as_index(const Expr& e) {
    if (is_float(e->dtype) || e->dtype == DType::boolean) return std::nullopt;
    if (e->kind == Kind::index) return e->index;
    if (e->kind == Kind::constant) return SymInt(e->integer);
    if (e->kind == Kind::cast) return cast_index(e);
    if (e->kind == Kind::call && e->args.size() == 2) {
      const auto a = as_index(e->args[0]), b = as_index(e->args[1]);
      if (a && b)
        if (const auto result = arithmetic(e->fn, *a, *b); result && fits(*result, e->dtype))
          return result;
    }
    return uniform(e);
  }
  std::optional<SymInt> cast_index(const Expr& e) {
    const auto inner = as_index(e->args[0]);
    if (inner && fits(*inner, e->dtype)) return inner;
    return uniform(e);
  }
  static std::optional<SymInt> arithmetic(Fn fn, const SymInt& a, const SymInt& b) {
    switch (fn) {
      case Fn::add: return a + b;
      case Fn::sub: return a - b;
      case Fn::mul: return a.is_const() || b.is_const() ? std::optional(a * b) : std::nullopt;
      case Fn::minimum: return min(a, b);
      case Fn::maximum: return max(a, b);
      default: return std::nullopt;
    }
  }
  // Arithmetic of the type does not wrap.
  static bool fits(const SymInt& value, DType dtype) {
    const int bits = 8 * size_bytes(dtype) - (info(dtype).is_signed ? 1 : 0);
    const int64_t most = bits > 40 ? int64_t{1} << 40 : int64_t{1} << bits;
    const ir::Interval range = value.range();
    return range.hi < most && range.lo >= (info(dtype).is_signed ? -most : 0);
  }
  // A number that is the same for all keys, and all queries where there are several. What is
  // further away than any key is as good as the nearest such number.
  std::optional<SymInt> uniform(const Expr& e) {
    constexpr int64_t kFar = int64_t{1} << 30;
    const auto depends = [&](const SymInt& axis) {
      return !axis.is_const() && use_.of(e).free.contains(axis.as_atom());
    };
    if (depends(key_) || (!by_query_ && depends(query_))) return std::nullopt;
    if (size_bytes(e->dtype) == 8 && !info(e->dtype).is_signed) return std::nullopt;
    const auto number = [](int64_t value) { return ir::constant_int(DType::i64, value); };
    const Expr clamped =
        ir::call(Fn::minimum,
                 {ir::call(Fn::maximum, {ir::cast(e, DType::i64), number(-kFar)}), number(kFar)});
    return SymInt::indirect("bound", clamped, {-kFar, kFar});
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

  // a < b + more
  KeyRange less(const Expr& a, const Expr& b, int64_t more) {
    const auto low = as_index(a), high = as_index(b);
    if (!low || !high) return unknown();
    const auto of_key = linear(*high - *low + more, key_);
    if (!of_key) return unknown();
    if (by_query_) {
      const auto [first, end] = positive(of_key->factor, of_key->rest);
      return {first, end, first, end};
    }
    const auto of_query = linear(of_key->rest, query_);
    if (!of_query) return unknown();
    const auto at = [&](const SymInt& query) { return of_query->factor * query + of_query->rest; };
    const bool rises = of_query->factor > 0;
    const auto any = positive(of_key->factor, at(rises ? last_ : first_)),
               every = positive(of_key->factor, at(rises ? first_ : last_));
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
