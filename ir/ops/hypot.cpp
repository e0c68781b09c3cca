#include <cmath>
#include <limits>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_hypot {
namespace {

// The larger leg is factored out, so that squares neither overflow nor vanish.
Expr length(const Exprs& x) {
  const Expr a = unary(Fn::abs, x[0]), b = unary(Fn::abs, x[1]);
  const Expr zero = literal(a, 0), one = literal(a, 1);
  const Expr large = maximum(a, b);
  const Expr ratio = div(minimum(a, b), select(equal(large, zero), one, large));
  const Expr finite = mul(large, unary(Fn::sqrt, add(one, mul(ratio, ratio))));
  const Expr infinite = call(Fn::logical_or, {unary(Fn::isinf, a), unary(Fn::isinf, b)});
  return select(infinite, literal(a, std::numeric_limits<double>::infinity()), finite);
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "hypot",
                        .operands = {"a", "b"},
                        .doc = "sqrt(a^2 + b^2) without overflow on the way; torch.hypot",
                        .working = as_float,
                        .element = [](const Exprs& x) { return length(x); },
                        .on_floats = [](const Floats& x) { return std::hypot(x[0], x[1]); }});
  op.samples = binary_samples() + binary_samples(-1e-30, 1e-30);
  return op;
}

}  // namespace tcc::ir::ops::op_hypot
