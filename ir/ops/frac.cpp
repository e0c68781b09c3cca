#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_frac {

OpDef make() {
  OpDef op = pointwise({.name = "frac",
                        .operands = {"x"},
                        .doc = "x - trunc(x); torch.frac",
                        .element = [](const Exprs& x) { return sub(x[0], unary(Fn::trunc, x[0])); },
                        .on_floats = [](const Floats& x) { return x[0] - std::trunc(x[0]); }});
  op.samples = unary_samples(-9, 9);
  return op;
}

}  // namespace tcc::ir::ops::op_frac
