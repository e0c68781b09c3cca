#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_sign {
namespace {

Expr lower(const Exprs& x) {
  const Expr zero = literal(x[0], 0), one = literal(x[0], 1);
  const Expr positive = select(greater(x[0], zero), one, zero);
  if (!info(x.dtype).is_signed) return positive;
  return select(less(x[0], zero), literal(x[0], -1), positive);
}

}  // namespace

OpDef make() {
  OpDef op = pointwise(
      {.name = "sign",
       .operands = {"x"},
       .doc = "-1, 0 or 1 as x is below, equal to or above 0; 0 for NaN; torch.sign",
       .element = lower,
       .on_floats = [](const Floats& x) { return static_cast<double>((x[0] > 0) - (x[0] < 0)); },
       .on_integers = [](const Ints& x) { return three_way(x.dtype, x[0], 0); }});
  op.samples = unary_samples() + unary_int_samples(-2, 3);
  return op;
}

}  // namespace tcc::ir::ops::op_sign
