#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_elu {
namespace {

Expr lower(const Exprs& x) {
  const Expr below = mul(literal(x[0], x.number("alpha")), unary(Fn::expm1, x[0]));
  return select(greater(x[0], literal(x[0], 0)), x[0], below);
}

double reference(const Floats& x) { return x[0] > 0 ? x[0] : x.number("alpha") * std::expm1(x[0]); }

}  // namespace

OpDef make() {
  OpDef op = pointwise({.name = "elu",
                        .operands = {"x"},
                        .doc = "x above 0, alpha * (e^x - 1) below; torch.nn.functional.elu",
                        .attrs = {{"alpha", AttrType::number, 1.0}},
                        .element = lower,
                        .on_floats = reference});
  op.samples = unary_samples(-4, 4) + with_attrs(unary_samples(), {{"alpha", 0.5}});
  return op;
}

}  // namespace tcc::ir::ops::op_elu
