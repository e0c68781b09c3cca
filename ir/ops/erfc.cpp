#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_erfc {

OpDef make() {
  OpDef op = unary_float(
      "erfc", Fn::erfc, [](double x) { return std::erfc(x); },
      "1 - erf(x), exact where erf is near 1; torch.erfc");
  op.samples = unary_samples(-4, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_erfc
