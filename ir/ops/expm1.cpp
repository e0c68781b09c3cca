#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_expm1 {

OpDef make() {
  OpDef op = unary_float(
      "expm1", Fn::expm1, [](double x) { return std::expm1(x); },
      "e^x - 1, exact near 0; torch.expm1");
  op.samples = unary_samples() + unary_samples(-1e-3, 1e-3);
  return op;
}

}  // namespace tcc::ir::ops::op_expm1
