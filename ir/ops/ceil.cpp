#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_ceil {

OpDef make() {
  OpDef op = rounding(
      "ceil", Fn::ceil, [](double x) { return std::ceil(x); },
      "x rounded towards infinity; integers unchanged; torch.ceil");
  op.samples = unary_samples(-9, 9) + unary_int_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_ceil
