#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_hardswish {
namespace {

Expr lower(const Exprs& x) {
  const auto number = [&](double value) { return literal(x[0], value); };
  const Expr gate = minimum(maximum(add(x[0], number(3)), number(0)), number(6));
  return mul(x[0], div(gate, number(6)));  // x * gate may overflow
}

double reference(const Floats& x) {
  if (x[0] <= -3) return x[0] * 0;
  return x[0] >= 3 ? x[0] : x[0] * (x[0] + 3) / 6;
}

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "hardswish",
                        .operands = {"x"},
                        .doc = "x * hardsigmoid(x); torch.nn.functional.hardswish",
                        .element = lower,
                        .on_floats = reference});
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_hardswish
