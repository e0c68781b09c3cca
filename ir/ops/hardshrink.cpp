#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_hardshrink {
namespace {

Expr lower(const Exprs& x) {
  const Expr within = call(Fn::le, {unary(Fn::abs, x[0]), literal(x[0], x.number("lambd"))});
  return select(within, literal(x[0], 0), x[0]);
}

double reference(const Floats& x) { return std::fabs(x[0]) <= x.number("lambd") ? 0 : x[0]; }

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "hardshrink",
                        .operands = {"x"},
                        .doc = "0 where |x| <= lambd, x elsewhere; torch.nn.functional.hardshrink",
                        .attrs = {{"lambd", AttrType::number, 0.5}},
                        .element = lower,
                        .on_floats = reference});
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_hardshrink
