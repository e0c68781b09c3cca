#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_exp2 {

OpDef make() {
  OpDef op = unary_float(
      "exp2", Fn::exp2, [](double x) { return std::exp2(x); }, "2 to the power of x; torch.exp2");
  op.samples = unary_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_exp2
