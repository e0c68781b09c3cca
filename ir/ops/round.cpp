#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_round {

OpDef make() {
  OpDef op = rounding(
      "round", Fn::round, [](double x) { return std::nearbyint(x); },
      "x rounded to the nearest whole number, halves to even; integers unchanged; torch.round");
  op.samples = unary_samples(-9, 9) + unary_int_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_round
