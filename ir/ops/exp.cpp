#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_exp {

OpDef make() {
  OpDef op = unary_float(
      "exp", Fn::exp, [](double x) { return std::exp(x); }, "e to the power of x; torch.exp");
  op.samples = unary_samples(-8, 8) + unary_int_samples(-3, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_exp
