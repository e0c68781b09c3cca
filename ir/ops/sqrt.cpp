#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_sqrt {

OpDef make() {
  OpDef op = unary_float(
      "sqrt", Fn::sqrt, [](double x) { return std::sqrt(x); },
      "The square root; NaN below 0; torch.sqrt");
  op.samples = unary_samples(0, 4) + unary_samples(-1, 1);
  return op;
}

}  // namespace tcc::ir::ops::op_sqrt
