#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_leaky_relu {
namespace {

Expr lower(const Exprs& x) {
  const Expr scaled = mul(x[0], literal(x[0], x.number("negative_slope")));
  return select(greater(x[0], literal(x[0], 0)), x[0], scaled);
}

double reference(const Floats& x) { return x[0] > 0 ? x[0] : x[0] * x.number("negative_slope"); }

}  // namespace

OpDef make() {
  OpDef op =
      pointwise({.name = "leaky_relu",
                 .operands = {"x"},
                 .doc = "x above 0, negative_slope * x below; torch.nn.functional.leaky_relu",
                 .attrs = {{"negative_slope", AttrType::number, 0.01}},
                 .element = lower,
                 .on_floats = reference});
  op.samples = unary_samples() + with_attrs(unary_samples(), {{"negative_slope", 0.2}});
  return op;
}

}  // namespace tcc::ir::ops::op_leaky_relu
