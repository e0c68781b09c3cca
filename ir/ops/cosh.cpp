#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_cosh {

OpDef make() {
  OpDef op = unary_float(
      "cosh", Fn::cosh, [](double x) { return std::cosh(x); }, "The hyperbolic cosine; torch.cosh");
  op.samples = unary_samples(-5, 5);
  return op;
}

}  // namespace tcc::ir::ops::op_cosh
