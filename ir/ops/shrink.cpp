#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_shrink {
namespace {

Expr lower(const Exprs& x) {
  const auto number = [&](double value) { return literal(x[0], value); };
  const double lambda = x.number("lambd"), bias = x.number("bias");
  const Expr negative = select(less(x[0], number(-lambda)), add(x[0], number(bias)), number(0));
  return select(greater(x[0], number(lambda)), sub(x[0], number(bias)), negative);
}

double reference(const Floats& x) {
  if (x[0] > x.number("lambd")) return x[0] - x.number("bias");
  return x[0] < -x.number("lambd") ? x[0] + x.number("bias") : 0;
}

}  // namespace

OpDef make() {
  OpDef op =
      pointwise({.name = "shrink",
                 .operands = {"x"},
                 .doc = "x drawn towards 0 by bias, 0 where |x| <= lambd or x is NaN; "
                        "softshrink and hardshrink keep NaN; ONNX's Shrink",
                 .attrs = {{"lambd", AttrType::number, 0.5}, {"bias", AttrType::number, 0.0}},
                 .working = as_float,
                 .element = lower,
                 .on_floats = reference});
  op.samples = unary_samples(-4, 4) +
               with_attrs(unary_samples(-4, 4), {{"lambd", 1.5}, {"bias", 1.5}}) +
               unary_int_samples(-3, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_shrink
