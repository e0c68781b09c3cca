#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_celu {
namespace {

Expr lower(const Exprs& x) {
  const Expr alpha = literal(x[0], x.number("alpha"));
  const Expr below = mul(alpha, unary(Fn::expm1, div(x[0], alpha)));
  return select(greater(x[0], literal(x[0], 0)), x[0], below);
}

double reference(const Floats& x) {
  return x[0] > 0 ? x[0] : x.number("alpha") * std::expm1(x[0] / x.number("alpha"));
}

void check(const InferContext& context) {
  context.require(number_attr(context.node, "alpha") != 0, "alpha must not be 0");
}

}  // namespace

OpDef make() {
  OpDef op =
      pointwise({.name = "celu",
                 .operands = {"x"},
                 .doc = "max(x, 0) + min(0, alpha * (e^(x / alpha) - 1)); torch.nn.functional.celu",
                 .attrs = {{"alpha", AttrType::number, 1.0}},
                 .element = lower,
                 .on_floats = reference,
                 .check = check});
  op.samples = unary_samples(-4, 4) + with_attrs(unary_samples(), {{"alpha", 0.5}});
  return op;
}

}  // namespace tcc::ir::ops::op_celu
