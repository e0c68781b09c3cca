#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_erf {

OpDef make() {
  OpDef op = unary_float(
      "erf", Fn::erf, [](double x) { return std::erf(x); }, "The error function; torch.erf");
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_erf
