#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_acosh {

OpDef make() {
  OpDef op = unary_float(
      "acosh", Fn::acosh, [](double x) { return std::acosh(x); },
      "The inverse hyperbolic cosine; NaN below 1; torch.acosh");
  op.samples = unary_samples(1, 9) + unary_samples(0, 2);
  return op;
}

}  // namespace tcc::ir::ops::op_acosh
