#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_atanh {

OpDef make() {
  OpDef op = unary_float(
      "atanh", Fn::atanh, [](double x) { return std::atanh(x); },
      "The inverse hyperbolic tangent; NaN beyond 1; torch.atanh");
  op.samples = unary_samples(-0.9, 0.9) + unary_samples(-2, 2);
  return op;
}

}  // namespace tcc::ir::ops::op_atanh
