#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_softshrink {
namespace {

Expr lower(const Exprs& x) {
  const Expr lambda = literal(x[0], x.number("lambd")), minus = literal(x[0], -x.number("lambd"));
  const Expr zero = mul(x[0], literal(x[0], 0));  // NaN stays NaN
  const Expr negative = select(less(x[0], minus), add(x[0], lambda), zero);
  return select(greater(x[0], lambda), sub(x[0], lambda), negative);
}

double reference(const Floats& x) {
  const double lambda = x.number("lambd");
  if (x[0] > lambda) return x[0] - lambda;
  return x[0] < -lambda ? x[0] + lambda : x[0] * 0;
}

}  // namespace

OpDef make() {
  OpDef op =
      pointwise({.name = "softshrink",
                 .operands = {"x"},
                 .doc = "x drawn towards 0 by lambd, 0 within it; torch.nn.functional.softshrink",
                 .attrs = {{"lambd", AttrType::number, 0.5}},
                 .element = lower,
                 .on_floats = reference});
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_softshrink
