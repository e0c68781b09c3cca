#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_acos {

OpDef make() {
  OpDef op = unary_float(
      "acos", Fn::acos, [](double x) { return std::acos(x); },
      "The arc cosine, in [0, pi]; NaN beyond 1; torch.acos");
  op.samples = unary_samples(-1, 1) + unary_samples(-2, 2);
  return op;
}

}  // namespace tcc::ir::ops::op_acos
