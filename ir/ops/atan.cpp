#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_atan {

OpDef make() {
  OpDef op = unary_float(
      "atan", Fn::atan, [](double x) { return std::atan(x); },
      "The arc tangent, in (-pi/2, pi/2); torch.atan");
  op.samples = unary_samples(-9, 9);
  return op;
}

}  // namespace tcc::ir::ops::op_atan
