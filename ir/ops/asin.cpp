#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_asin {

OpDef make() {
  OpDef op = unary_float(
      "asin", Fn::asin, [](double x) { return std::asin(x); },
      "The arc sine, in [-pi/2, pi/2]; NaN beyond 1; torch.asin");
  op.samples = unary_samples(-1, 1) + unary_samples(-2, 2);
  return op;
}

}  // namespace tcc::ir::ops::op_asin
