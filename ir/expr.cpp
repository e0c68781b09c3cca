// Builders of expressions, which simplify on the way.
#include "ir/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/bit_cast.h"
#include "ir/expr_fold.h"
#include "ir/symint_internal.h"
#include "support/error.h"

namespace tcc::ir {

namespace {

using Kind = ExprNode::Kind;

bool is_call(const Expr& e, Fn fn) { return e->kind == Kind::call && e->fn == fn; }

bool same(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  switch (a->kind) {
    case Kind::constant:
      return is_float(a->dtype)
                 ? std::bit_cast<uint64_t>(a->number) == std::bit_cast<uint64_t>(b->number)
                 : a->integer == b->integer;
    case Kind::index: return a->index == b->index;
    case Kind::load:
      return a->buffer == b->buffer && a->stored == b->stored && a->index == b->index;
    case Kind::var: return a->variable == b->variable;
    default: return false;
  }
}

bool is_negative_zero(const Expr& e) {
  return is_constant(e) && is_float(e->dtype) && e->number == 0 && std::signbit(e->number);
}

bool is_positive_zero(const Expr& e) {
  return is_constant(e) && is_float(e->dtype) && e->number == 0 && !std::signbit(e->number);
}

// Its reciprocal is exact and normal: dividing by it and multiplying by the reciprocal are the
// same.
bool is_power_of_two(const Expr& e) {
  if (!is_constant(e) || !is_float(e->dtype)) return false;
  int exponent;
  return std::isfinite(e->number) && std::fabs(std::frexp(e->number, &exponent)) == 0.5 &&
         std::abs(exponent) < 120;
}

// ---- index values

std::optional<SymInt> as_index(const Expr& e) {
  if (e->kind == Kind::index) return e->index;
  const bool integer = e->dtype == DType::i64 && is_constant(e);
  if (!integer || e->integer <= -kUnbounded || e->integer >= kUnbounded) return std::nullopt;
  return SymInt(e->integer);
}

// Index expressions may be evaluated in 32 bits, other i64 values may not.
bool is_small(const SymInt& index) {
  constexpr int64_t limit = int64_t{1} << 31;
  const Interval range = index.range();
  return range.lo > -limit && range.hi < limit;
}

std::optional<SymInt> index_arithmetic(Fn fn, const SymInt& a, const SymInt& b) {
  switch (fn) {
    case Fn::add: return a + b;
    case Fn::sub: return a - b;
    case Fn::mul: return a.is_const() || b.is_const() ? std::optional<SymInt>(a * b) : std::nullopt;
    case Fn::minimum: return min(a, b);
    case Fn::maximum: return max(a, b);
    case Fn::floordiv:
    case Fn::remainder:
      if (!b.is_const() || b.constant() <= 0) return std::nullopt;
      return fn == Fn::floordiv ? floordiv(a, b) : mod(a, b);
    default: return std::nullopt;
  }
}

std::optional<bool> index_less_by_range(const SymInt& a, const SymInt& b) {
  const Interval distance = (b - a).range();
  if (distance.lo > 0) return true;
  if (distance.hi <= 0) return false;
  if (symint::surely_below(a, b)) return true;
  return std::nullopt;
}

std::optional<bool> negated(std::optional<bool> value) {
  return value ? std::optional<bool>(!*value) : std::nullopt;
}

std::optional<bool> index_comparison(Fn fn, const SymInt& a, const SymInt& b) {
  switch (fn) {
    case Fn::lt: return index_less_by_range(a, b);
    case Fn::gt: return index_less_by_range(b, a);
    case Fn::le: return negated(index_less_by_range(b, a));
    case Fn::ge: return negated(index_less_by_range(a, b));
    case Fn::eq:
    case Fn::ne: {
      const Interval distance = (b - a).range();
      if (a == b) return fn == Fn::eq;
      if (distance.lo > 0 || distance.hi < 0) return fn == Fn::ne;
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

Expr simplify_indices(Fn fn, const Expr& x, const Expr& y) {
  const auto a = as_index(x), b = as_index(y);
  if (!a || !b) return nullptr;
  if (info(fn).to_bool) {
    const auto truth = index_comparison(fn, *a, *b);
    return truth ? constant_int(DType::boolean, *truth) : nullptr;
  }
  if (!is_small(*a) || !is_small(*b)) return nullptr;
  const auto value = index_arithmetic(fn, *a, *b);
  return value && is_small(*value) ? index_value(*value) : nullptr;
}

// ---- functions

Expr simplify_float(Fn fn, const std::vector<Expr>& args) {
  const Expr& x = args[0];
  const DType dtype = x->dtype;
  switch (fn) {
    case Fn::add:
      if (is_negative_zero(args[1])) return x;
      if (is_negative_zero(x)) return args[1];
      return nullptr;
    case Fn::sub: return is_positive_zero(args[1]) ? x : nullptr;
    case Fn::mul:
      if (is_const(args[1], 1)) return x;
      return is_const(x, 1) ? args[1] : nullptr;
    case Fn::div:
      if (is_const(args[1], 1)) return x;
      return is_power_of_two(args[1]) ? mul(x, constant(dtype, 1 / args[1]->number)) : nullptr;
    case Fn::pow:
      if (is_const(args[1], 1)) return x;
      return is_const(args[1], 2) ? mul(x, x) : nullptr;
    default: return nullptr;
  }
}

Expr simplify_int(Fn fn, const std::vector<Expr>& args) {
  const Expr &x = args[0], &y = args.back();
  switch (fn) {
    case Fn::add:
      if (is_const(y, 0)) return x;
      return is_const(x, 0) ? y : nullptr;
    case Fn::sub:
      if (x->dtype != DType::boolean && same(x, y)) return constant_int(x->dtype, 0);
      return is_const(y, 0) ? x : nullptr;
    case Fn::mul:
      if (is_const(x, 0) || is_const(y, 1)) return x;
      return is_const(y, 0) || is_const(x, 1) ? y : nullptr;
    case Fn::div:
    case Fn::floordiv:
    case Fn::pow: return is_const(y, 1) && x->dtype != DType::boolean ? x : nullptr;
    case Fn::remainder:
    case Fn::fmod:
      return is_const(y, 1) && x->dtype != DType::boolean ? constant_int(x->dtype, 0) : nullptr;
    case Fn::shift_left:
    case Fn::shift_right: return is_const(y, 0) ? x : nullptr;
    case Fn::eq:
    case Fn::le:
    case Fn::ge: return same(x, y) ? constant_int(DType::boolean, 1) : nullptr;
    case Fn::ne:
    case Fn::lt:
    case Fn::gt: return same(x, y) ? constant_int(DType::boolean, 0) : nullptr;
    default: return nullptr;
  }
}

Expr simplify_logic(Fn fn, const std::vector<Expr>& args) {
  const Expr &x = args[0], &y = args.back();
  switch (fn) {
    case Fn::logical_not: return is_call(x, Fn::logical_not) ? x->args[0] : nullptr;
    case Fn::logical_and:
      if (is_const(x, 1) || is_const(y, 0) || same(x, y)) return y;
      return is_const(x, 0) || is_const(y, 1) ? x : nullptr;
    case Fn::logical_or:
      if (is_const(x, 0) || is_const(y, 1) || same(x, y)) return y;
      return is_const(x, 1) || is_const(y, 0) ? x : nullptr;
    default: return nullptr;
  }
}

Expr simplify_select(const std::vector<Expr>& args) {
  const Expr &condition = args[0], &a = args[1], &b = args[2];
  if (is_constant(condition)) return condition->integer != 0 ? a : b;
  if (same(a, b)) return a;
  if (is_call(condition, Fn::logical_not)) return select(condition->args[0], b, a);
  if (a->dtype != DType::boolean || !is_constant(a) || !is_constant(b)) return nullptr;
  return a->integer != 0 ? condition : call(Fn::logical_not, {condition});
}

Expr simplify(Fn fn, const std::vector<Expr>& args) {
  if (fn == Fn::select) return simplify_select(args);
  if (std::all_of(args.begin(), args.end(), is_constant))
    if (Expr folded = fold_call(fn, args)) return folded;
  if ((fn == Fn::neg || fn == Fn::bitwise_not) && is_call(args[0], fn)) return args[0]->args[0];
  if (fn == Fn::abs && (is_call(args[0], Fn::abs) || is_call(args[0], Fn::neg)))
    return is_call(args[0], Fn::abs) ? args[0] : call(Fn::abs, {args[0]->args[0]});
  if ((fn == Fn::minimum || fn == Fn::maximum) && same(args[0], args[1])) return args[0];
  if (Expr logic = simplify_logic(fn, args)) return logic;
  if (args.size() == 2)
    if (Expr index = simplify_indices(fn, args[0], args[1])) return index;
  return is_float(args[0]->dtype) ? simplify_float(fn, args) : simplify_int(fn, args);
}

bool needs_bool(Fn fn) {
  return fn == Fn::logical_and || fn == Fn::logical_or || fn == Fn::logical_not;
}

// Checks the operands and gives the result's dtype.
DType result_dtype(Fn fn, const std::vector<Expr>& args) {
  const FnInfo& function = info(fn);
  TCC_CHECK(args.size() == static_cast<size_t>(function.arity), function.name, " of ", args.size(),
            " operands");
  for (const Expr& arg : args) {
    TCC_CHECK(arg, function.name, " of a null operand");
    TCC_CHECK(!is_low_precision(arg->dtype), function.name, " of ", name(arg->dtype),
              "; cast it to f32 first");
  }
  const size_t first = fn == Fn::select ? 1 : 0;
  const DType dtype = args[first]->dtype;
  for (size_t i = first; i < args.size(); ++i)
    TCC_CHECK(args[i]->dtype == dtype, function.name, " of ", name(dtype), " and ",
              name(args[i]->dtype));
  if (fn == Fn::select)
    TCC_CHECK(args[0]->dtype == DType::boolean, "select on ", name(args[0]->dtype));
  if (needs_bool(fn)) TCC_CHECK(dtype == DType::boolean, function.name, " of ", name(dtype));
  if (fn == Fn::rand_uniform || fn == Fn::rand_normal) {
    TCC_CHECK(dtype == DType::i64, function.name, " of ", name(dtype));
    return DType::f32;
  }
  return function.to_bool ? DType::boolean : dtype;
}

// Every value of `from` is one of `to`.
bool holds_all(DType to, DType from) {
  const DTypeInfo &x = info(from), &y = info(to);
  if (from == to || from == DType::boolean) return true;
  if (to == DType::boolean || (x.is_float && !y.is_float)) return false;
  if (x.is_float) return y.bytes > x.bytes;
  const int bits = 8 * x.bytes - (x.is_signed ? 1 : 0);
  // f16's exponent ends before its integers do; its 11 bits still hold i8 and u8.
  if (y.is_float) return bits <= y.mantissa_bits + 1;
  return bits <= 8 * y.bytes - (y.is_signed ? 1 : 0) && (y.is_signed || !x.is_signed);
}

// cast(inner, dtype) of a cast: what it may read instead, or null.
Expr skip_cast(const ExprNode& inner, DType dtype) {
  const Expr& source = inner.args[0];
  if (holds_all(inner.dtype, source->dtype)) return source;
  // Wrapping twice is wrapping to the narrower one.
  const bool integers = is_integer(source->dtype) && is_integer(inner.dtype) && is_integer(dtype);
  if (integers && size_bytes(dtype) <= size_bytes(inner.dtype)) return source;
  // A value that was loaded as bf16 is a bf16 already.
  const bool rounded = source->kind == Kind::load && source->stored == inner.dtype;
  return rounded && dtype == source->dtype ? source : nullptr;
}

}  // namespace

Expr constant(DType dtype, double value) {
  auto node = new_node(Kind::constant, dtype);
  if (is_float(dtype)) {
    node->number = round_to(dtype, value);
    return node;
  }
  if (std::isnan(value)) return constant_int(dtype, 0);
  constexpr double most = 0x1.fffffffffffffp63;  // the last one that a u64 holds
  if (value >= 0x1p63)
    return constant_int(dtype, static_cast<int64_t>(static_cast<uint64_t>(std::min(value, most))));
  return constant_int(dtype, static_cast<int64_t>(std::max(value, -0x1p63)));
}

Expr constant_int(DType dtype, int64_t value) {
  if (is_float(dtype)) return constant(dtype, static_cast<double>(value));
  auto node = new_node(Kind::constant, dtype);
  node->integer = wrap_to(dtype, value);
  return node;
}

Expr index_value(const SymInt& index) {
  if (index.is_const()) return constant_int(DType::i64, index.constant());
  auto node = new_node(Kind::index, DType::i64);
  node->index = index;
  return node;
}

Expr load(int buffer, DType stored, const SymInt& offset) {
  auto node = new_node(Kind::load, compute_dtype(stored));
  node->buffer = buffer;
  node->stored = stored;
  node->index = offset;
  return node;
}

Variable new_variable(std::string name, DType dtype) { return {new_id(), dtype, std::move(name)}; }

Expr read(const Variable& variable) {
  auto node = new_node(Kind::var, variable.dtype);
  node->variable = variable;
  return node;
}

Expr element(const Variable& array, const SymInt& index) {
  auto node = new_node(Kind::element, array.dtype);
  node->variable = array;
  node->index = index;
  return node;
}

Expr shuffle_xor(const Expr& value, int64_t mask) {
  auto node = new_node(Kind::shuffle, value->dtype);
  node->integer = mask;
  node->args = {value};
  return node;
}

Expr call(Fn fn, std::vector<Expr> args) {
  const DType dtype = result_dtype(fn, args);
  if (Expr simpler = simplify(fn, args)) return simpler;
  auto node = new_node(Kind::call, dtype);
  node->fn = fn;
  node->args = std::move(args);
  return node;
}

Expr cast(const Expr& value, DType dtype) {
  if (value->dtype == dtype) return value;
  if (is_constant(value)) return fold_cast(value, dtype);
  if (value->kind == Kind::cast && !keeps_bits(*value))
    if (Expr source = skip_cast(*value, dtype)) return cast(source, dtype);
  auto node = new_node(Kind::cast, dtype);
  node->args = {value};
  return node;
}

Expr reduce(ReduceKind kind, std::vector<SymInt> axes, const Expr& body) {
  TCC_CHECK(!is_low_precision(body->dtype), "a reduction of ", name(body->dtype));
  std::erase_if(axes, [](const SymInt& axis) { return axis.is(0); });  // of extent 1
  for (const SymInt& axis : axes) {
    const AtomPtr atom = axis.as_atom();
    TCC_CHECK(atom && atom->kind == Atom::Kind::axis, axis, " is not an axis");
  }
  const auto is_empty = [](const SymInt& axis) { return axis.as_atom()->args[0].is(0); };
  if (std::ranges::any_of(axes, is_empty) && !is_arg(kind))
    return is_float(body->dtype) ? constant(body->dtype, identity(kind, body->dtype))
                                 : constant_int(body->dtype, identity_int(kind, body->dtype));
  if (axes.empty()) return is_arg(kind) ? constant_int(DType::i64, 0) : body;
  auto node = new_node(Kind::reduce, is_arg(kind) ? DType::i64 : body->dtype);
  node->reduce = kind;
  node->args = {body};
  node->axes = std::move(axes);
  return node;
}

Expr index_less(const SymInt& a, const SymInt& b) {
  return call(Fn::lt, {index_value(a), index_value(b)});
}

Expr in_range(const SymInt& a, const SymInt& lo, const SymInt& hi) {
  return call(Fn::logical_and,
              {call(Fn::le, {index_value(lo), index_value(a)}), index_less(a, hi)});
}

Expr all_of(std::span<const Expr> conditions) {
  Expr result;
  for (const Expr& condition : conditions) {
    if (is_true(condition)) continue;
    result = result ? call(Fn::logical_and, {result, condition}) : condition;
  }
  return result;
}

bool is_true(const Expr& e) {
  return !e || (is_constant(e) && e->dtype == DType::boolean && e->integer != 0);
}

bool is_const(const Expr& e, double value) {
  if (!is_constant(e)) return false;
  return is_float(e->dtype) ? e->number == value : static_cast<double>(e->integer) == value;
}

}  // namespace tcc::ir
