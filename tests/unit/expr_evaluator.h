// Evaluates loop expressions on the host in f64 and i64: what an op's lowering says, without any
// device.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/op.h"
#include "ir/ops/_philox.h"
#include "support/error.h"

namespace tcc::ir::test {

// A number of either kind; which one, the expression's dtype tells.
struct Number {
  double f = 0;
  int64_t i = 0;
};

class ExprEvaluator {
 public:
  explicit ExprEvaluator(std::vector<const RefTensor*> buffers) : buffers_(std::move(buffers)) {}

  // The value of an axis from now on.
  void set(const std::string& axis, int64_t value) { axes_[axis] = value; }

  int64_t index(const SymInt& value) {
    return value.evaluate([&](const Atom& atom) -> std::optional<int64_t> {
      if (atom.kind == Atom::Kind::indirect) return (*this)(atom.value).i;
      const auto axis = axes_.find(atom.name);
      return axis == axes_.end() ? std::nullopt : std::optional(axis->second);
    });
  }

  Number operator()(const Expr& e) {
    using Kind = ExprNode::Kind;
    switch (e->kind) {
      case Kind::constant: return {e->number, e->integer};
      case Kind::index: return {0, index(e->index)};
      case Kind::load: return load(*e);
      case Kind::cast: return converted((*this)(e->args[0]), e->args[0]->dtype, e->dtype);
      case Kind::reduce: return reduced(*e, 0);
      case Kind::call: return called(*e);
      default: break;
    }
    TCC_CHECK(false, "cannot evaluate ", to_string(e));
    return {};
  }

 private:
  Number load(const ExprNode& e) {
    const RefTensor& x = *buffers_[static_cast<size_t>(e.buffer)];
    const int64_t offset = index(e.index);
    TCC_CHECK(offset >= 0 && offset < x.numel(), "load at ", offset, " of ", x.numel());
    const auto at = static_cast<size_t>(offset);
    return x.is_float() ? Number{x.f[at], 0} : Number{0, x.i[at]};
  }

  static Number converted(Number x, DType from, DType to) {
    if (to == DType::boolean) return {0, is_float(from) ? x.f != 0 : x.i != 0};
    if (is_float(to)) return {is_float(from) ? x.f : static_cast<double>(x.i), 0};
    if (!is_float(from)) return {0, wrap_to(to, x.i)};
    if (std::isnan(x.f)) return {};
    const int bits = 8 * size_bytes(to) - (info(to).is_signed ? 1 : 0);
    const double high = std::ldexp(1, bits), low = info(to).is_signed ? -high : 0;
    if (x.f >= high) return {0, static_cast<int64_t>(~uint64_t{0} >> (64 - bits))};
    return {0, static_cast<int64_t>(std::max(x.f, low))};
  }

  Number reduced(const ExprNode& e, size_t axis) {
    if (axis == e.axes.size()) return (*this)(e.args[0]);
    const AtomPtr atom = e.axes[axis].as_atom();
    const int64_t extent = index(atom->args[0]);
    Number total;
    if (is_float(e.dtype))
      total.f = identity(e.reduce, e.dtype);
    else
      total.i = identity_int(e.reduce, e.dtype);
    for (int64_t i = 0; i < extent; ++i) {
      axes_[atom->name] = i;
      const Number next = reduced(e, axis + 1);
      const bool sum = e.reduce == ReduceKind::sum;
      TCC_CHECK(sum || e.reduce == ReduceKind::max, "reduction");
      total.f = of_floats(sum ? Fn::add : Fn::maximum, total.f, next.f);
      total.i = sum ? total.i + next.i : std::max(total.i, next.i);
    }
    return total;
  }

  Number called(const ExprNode& e) {
    std::vector<Number> x;
    for (const Expr& arg : e.args) x.push_back((*this)(arg));
    if (e.fn == Fn::select) return x[0].i != 0 ? x[1] : x[2];
    if (e.fn == Fn::rand_uniform || e.fn == Fn::rand_normal) {
      const ops::RandomStream stream{static_cast<uint64_t>(x[0].i), static_cast<uint64_t>(x[1].i)};
      const bool uniform = e.fn == Fn::rand_uniform;
      return {uniform ? ops::random_uniform(stream, x[2].i) : ops::random_normal(stream, x[2].i),
              0};
    }
    const DType dtype = e.args[0]->dtype;
    if (is_float(dtype)) {
      const double value = of_floats(e.fn, x[0].f, x.size() > 1 ? x[1].f : 0);
      return info(e.fn).to_bool ? Number{0, value != 0} : Number{value, 0};
    }
    return {0, wrap_to(e.dtype, of_integers(e.fn, dtype, x[0].i, x.size() > 1 ? x[1].i : 0))};
  }

  static double of_floats(Fn fn, double a, double b);
  static int64_t of_integers(Fn fn, DType dtype, int64_t a, int64_t b);

  std::vector<const RefTensor*> buffers_;
  std::map<std::string, int64_t> axes_;
};

inline double ExprEvaluator::of_floats(Fn fn, double a, double b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (fn) {
    case Fn::add: return a + b;
    case Fn::sub: return a - b;
    case Fn::mul: return a * b;
    case Fn::div: return a / b;
    case Fn::remainder: {
      const double rest = std::fmod(a, b);
      return rest != 0 && std::signbit(rest) != std::signbit(b) ? rest + b : rest;
    }
    case Fn::floordiv: {
      if (b == 0) return a / b;
      const double rest = std::fmod(a, b);
      const double whole = std::round((a - rest) / b);
      return rest != 0 && std::signbit(rest) != std::signbit(b) ? whole - 1 : whole;
    }
    case Fn::fmod: return std::fmod(a, b);
    case Fn::pow: return std::pow(a, b);
    case Fn::minimum: return nan ? NAN : std::min(a, b);
    case Fn::maximum: return nan ? NAN : std::max(a, b);
    case Fn::neg: return -a;
    case Fn::abs: return std::fabs(a);
    case Fn::copysign: return std::copysign(a, b);
    case Fn::floor: return std::floor(a);
    case Fn::ceil: return std::ceil(a);
    case Fn::round: return std::nearbyint(a);
    case Fn::trunc: return std::trunc(a);
    case Fn::sqrt: return std::sqrt(a);
    case Fn::rsqrt: return 1 / std::sqrt(a);
    case Fn::exp: return std::exp(a);
    case Fn::exp2: return std::exp2(a);
    case Fn::expm1: return std::expm1(a);
    case Fn::log: return std::log(a);
    case Fn::log2: return std::log2(a);
    case Fn::log10: return std::log10(a);
    case Fn::log1p: return std::log1p(a);
    case Fn::sin: return std::sin(a);
    case Fn::cos: return std::cos(a);
    case Fn::tan: return std::tan(a);
    case Fn::asin: return std::asin(a);
    case Fn::acos: return std::acos(a);
    case Fn::atan: return std::atan(a);
    case Fn::atan2: return std::atan2(a, b);
    case Fn::sinh: return std::sinh(a);
    case Fn::cosh: return std::cosh(a);
    case Fn::tanh: return std::tanh(a);
    case Fn::asinh: return std::asinh(a);
    case Fn::acosh: return std::acosh(a);
    case Fn::atanh: return std::atanh(a);
    case Fn::erf: return std::erf(a);
    case Fn::erfc: return std::erfc(a);
    case Fn::sigmoid: return 1 / (1 + std::exp(-a));
    case Fn::exp_term: return std::exp(a);
    case Fn::normal_cdf: return 0.5 * std::erfc(-a * 0.70710678118654752440);
    case Fn::eq: return a == b;
    case Fn::ne: return a != b;
    case Fn::lt: return a < b;
    case Fn::le: return a <= b;
    case Fn::gt: return a > b;
    case Fn::ge: return a >= b;
    case Fn::isnan: return std::isnan(a);
    case Fn::isinf: return std::isinf(a);
    case Fn::isfinite: return std::isfinite(a);
    default: break;
  }
  TCC_CHECK(false, "function ", name(fn), " of floats");
  return 0;
}

inline int64_t ExprEvaluator::of_integers(Fn fn, DType dtype, int64_t a, int64_t b) {
  const int bits = 8 * size_bytes(dtype);
  const bool in_width = b >= 0 && b < bits;
  switch (fn) {
    case Fn::add: return a + b;
    case Fn::sub: return a - b;
    case Fn::mul: return a * b;
    case Fn::div: return b == 0 ? 0 : a / b;
    case Fn::floordiv: return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
    case Fn::remainder: return b == 0 ? a : ((a % b) + b) % b;
    case Fn::fmod: return b == 0 ? a : a % b;
    case Fn::pow: {
      if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
      int64_t power = 1;
      for (; b > 0; --b) power *= a;
      return power;
    }
    case Fn::minimum: return std::min(a, b);
    case Fn::maximum: return std::max(a, b);
    case Fn::neg: return -a;
    case Fn::abs: return std::abs(a);
    case Fn::eq: return a == b;
    case Fn::ne: return a != b;
    case Fn::lt: return a < b;
    case Fn::le: return a <= b;
    case Fn::gt: return a > b;
    case Fn::ge: return a >= b;
    case Fn::logical_and:
    case Fn::bitwise_and: return a & b;
    case Fn::logical_or:
    case Fn::bitwise_or: return a | b;
    case Fn::bitwise_xor: return a ^ b;
    case Fn::logical_not: return a == 0;
    case Fn::bitwise_not: return ~a;
    case Fn::shift_left: return in_width ? a << b : 0;
    case Fn::shift_right: return a >> (in_width ? b : bits - 1);
    default: break;
  }
  TCC_CHECK(false, "function ", name(fn), " of integers");
  return 0;
}

}  // namespace tcc::ir::test
