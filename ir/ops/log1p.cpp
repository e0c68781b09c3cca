#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_log1p {

OpDef make() {
  OpDef op = unary_float(
      "log1p", Fn::log1p, [](double x) { return std::log1p(x); },
      "log(1 + x), exact near 0; NaN below -1; torch.log1p");
  op.samples = unary_samples(-0.9, 4) + unary_samples(-1e-3, 1e-3) + unary_samples(-2, 0);
  return op;
}

}  // namespace tcc::ir::ops::op_log1p
