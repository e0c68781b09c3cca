#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_reciprocal {

OpDef make() {
  OpDef op = pointwise({.name = "reciprocal",
                        .operands = {"x"},
                        .doc = "1 / x; torch.reciprocal",
                        .working = as_float,
                        .element = [](const Exprs& x) { return div(literal(x[0], 1), x[0]); },
                        .on_floats = [](const Floats& x) { return 1 / x[0]; }});
  op.samples = unary_samples(0.2, 4) + unary_int_samples(1, 9);
  return op;
}

}  // namespace tcc::ir::ops::op_reciprocal
