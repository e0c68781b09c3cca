#include <cmath>
#include <limits>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_pow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Powers that a multiplication or a root gives are by far cheaper than Fn::pow.
Expr power(const Exprs& x) {
  const Expr &base = x[0], &exponent = x[1];
  if (is_const(exponent, 1)) return base;
  if (is_const(exponent, 2)) return mul(base, base);
  if (is_const(exponent, 3)) return mul(mul(base, base), base);
  if (!is_float(x.dtype)) return call(Fn::pow, {base, exponent});
  // pow(-inf, y) is inf or 0, where the roots give NaN; and pow(-0, y) has no sign, as -0 + 0.
  const Expr is_lowest = equal(base, literal(base, -kInfinity));
  const Expr unsigned_zero = add(base, literal(base, 0));
  if (is_const(exponent, 0.5))
    return select(is_lowest, literal(base, kInfinity), unary(Fn::sqrt, unsigned_zero));
  if (is_const(exponent, -0.5))
    return select(is_lowest, literal(base, 0), unary(Fn::rsqrt, unsigned_zero));
  if (is_const(exponent, -1)) return div(literal(base, 1), base);
  return call(Fn::pow, {base, exponent});
}

}  // namespace

OpDef make() {
  OpDef op = pointwise(
      {.name = "pow",
       .operands = {"a", "b"},
       .doc = "a to the power of b, C's pow; integers wrap, and a negative b gives the whole part; "
              "torch.pow",
       .element = [](const Exprs& x) { return power(x); },
       .on_floats = [](const Floats& x) { return std::pow(x[0], x[1]); },
       .on_integers = [](const Ints& x) { return integer_power(x.dtype, x[0], x[1]); }});
  op.samples = binary_samples(0.1, 3) + binary_samples(-2, 2) + binary_int_samples(-3, 6) +
               int_float_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_pow
