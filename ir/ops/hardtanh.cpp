#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"
#include "support/error.h"

namespace tcc::ir::ops::op_hardtanh {
namespace {

Expr lower(const Exprs& x) {
  const Expr above = maximum(x[0], literal(x[0], x.number("min_val")));
  return minimum(above, literal(x[0], x.number("max_val")));
}

double reference(const Floats& x) {
  const double low = x.number("min_val"), high = x.number("max_val");
  if (x[0] > high) return high;
  return x[0] < low ? low : x[0];
}

void check(const InferContext& context) {
  const double low = number_attr(context.node, "min_val");
  const double high = number_attr(context.node, "max_val");
  context.require(low <= high, str("min_val ", low, " is above max_val ", high));
}

}  // namespace

OpDef make() {
  OpDef op =
      pointwise({.name = "hardtanh",
                 .operands = {"x"},
                 .doc = "min(max(x, min_val), max_val); torch.nn.functional.hardtanh",
                 .attrs = {{"min_val", AttrType::number, -1.0}, {"max_val", AttrType::number, 1.0}},
                 .element = lower,
                 .on_floats = reference,
                 .check = check});
  op.samples =
      unary_samples() + with_attrs(unary_samples(-9, 9), {{"min_val", 0.0}, {"max_val", 6.0}});
  return op;
}

}  // namespace tcc::ir::ops::op_hardtanh
