#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_hardsigmoid {
namespace {

Expr lower(const Exprs& x) {
  const auto number = [&](double value) { return literal(x[0], value); };
  return div(minimum(maximum(add(x[0], number(3)), number(0)), number(6)), number(6));
}

double reference(const Floats& x) {
  if (x[0] <= -3) return 0;
  return x[0] >= 3 ? 1 : (x[0] + 3) / 6;
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "hardsigmoid",
                        .operands = {"x"},
                        .doc = "min(max(x + 3, 0), 6) / 6; torch.nn.functional.hardsigmoid",
                        .element = lower,
                        .on_floats = reference});
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_hardsigmoid
