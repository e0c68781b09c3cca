#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_floor {

OpDef make() {
  OpDef op = rounding(
      "floor", Fn::floor, [](double x) { return std::floor(x); },
      "x rounded towards minus infinity; integers unchanged; torch.floor");
  op.samples = unary_samples(-9, 9) + unary_int_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_floor
