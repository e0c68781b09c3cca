#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_silu {

OpDef make() {
  OpDef op =
      pointwise({.name = "silu",
                 .operands = {"x"},
                 .doc = "x * sigmoid(x), also called swish; torch.nn.functional.silu",
                 .element = [](const Exprs& x) { return mul(x[0], unary(Fn::sigmoid, x[0])); },
                 .on_floats = [](const Floats& x) { return x[0] / (1 + std::exp(-x[0])); }});
  op.samples = unary_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_silu
