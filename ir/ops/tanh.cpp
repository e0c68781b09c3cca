#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_tanh {

OpDef make() {
  OpDef op = unary_float(
      "tanh", Fn::tanh, [](double x) { return std::tanh(x); },
      "The hyperbolic tangent; torch.tanh");
  op.samples = unary_samples(-5, 5) + unary_int_samples(-3, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_tanh
