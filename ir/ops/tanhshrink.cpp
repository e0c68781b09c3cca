#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_tanhshrink {

OpDef make() {
  OpDef op = pointwise({.name = "tanhshrink",
                        .operands = {"x"},
                        .doc = "x - tanh(x); torch.nn.functional.tanhshrink",
                        .element = [](const Exprs& x) { return sub(x[0], unary(Fn::tanh, x[0])); },
                        .on_floats = [](const Floats& x) { return x[0] - std::tanh(x[0]); }});
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_tanhshrink
