#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_tan {

OpDef make() {
  OpDef op = unary_float(
      "tan", Fn::tan, [](double x) { return std::tan(x); },
      "The tangent of x in radians; torch.tan");
  op.samples = unary_samples(-1.3, 1.3);
  return op;
}

}  // namespace tcc::ir::ops::op_tan
