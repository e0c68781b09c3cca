#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_sin {

OpDef make() {
  OpDef op = unary_float(
      "sin", Fn::sin, [](double x) { return std::sin(x); }, "The sine of x in radians; torch.sin");
  op.samples = unary_samples(-9, 9) + unary_int_samples(-3, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_sin
