#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_sinh {

OpDef make() {
  OpDef op = unary_float(
      "sinh", Fn::sinh, [](double x) { return std::sinh(x); }, "The hyperbolic sine; torch.sinh");
  op.samples = unary_samples(-5, 5);
  return op;
}

}  // namespace tcc::ir::ops::op_sinh
