#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_mish {
namespace {

Expr lower(const Exprs& x) {
  // tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2); 1 to the last digit of f64 from x = 20 on,
  // where n may overflow.
  const Expr e = unary(Fn::exp, x[0]), two = literal(x[0], 2);
  const Expr n = mul(e, add(e, two));
  return select(greater(x[0], literal(x[0], 20)), x[0], mul(x[0], div(n, add(n, two))));
}

double reference(const Floats& x) {
  const double tail = std::log1p(std::exp(-std::fabs(x[0])));
  return x[0] * std::tanh(x[0] > 0 ? x[0] + tail : tail);
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "mish",
                        .operands = {"x"},
                        .doc = "x * tanh(softplus(x)); torch.nn.functional.mish",
                        .element = lower,
                        .on_floats = reference});
  op.samples = unary_samples(-8, 8) + unary_samples(-60, 60);
  return op;
}

}  // namespace tcc::ir::ops::op_mish
