#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_softsign {

OpDef make() {
  OpDef op = pointwise(
      {.name = "softsign",
       .operands = {"x"},
       .doc = "x / (1 + |x|); torch.nn.functional.softsign",
       .element =
           [](const Exprs& x) { return div(x[0], add(literal(x[0], 1), unary(Fn::abs, x[0]))); },
       .on_floats = [](const Floats& x) { return x[0] / (1 + std::fabs(x[0])); }});
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_softsign
