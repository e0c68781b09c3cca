#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_asinh {

OpDef make() {
  OpDef op = unary_float(
      "asinh", Fn::asinh, [](double x) { return std::asinh(x); },
      "The inverse hyperbolic sine; torch.asinh");
  op.samples = unary_samples(-9, 9);
  return op;
}

}  // namespace tcc::ir::ops::op_asinh
