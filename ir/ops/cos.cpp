#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_cos {

OpDef make() {
  OpDef op = unary_float(
      "cos", Fn::cos, [](double x) { return std::cos(x); },
      "The cosine of x in radians; torch.cos");
  op.samples = unary_samples(-9, 9) + unary_int_samples(-3, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_cos
