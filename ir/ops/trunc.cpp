#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_trunc {

OpDef make() {
  OpDef op = rounding(
      "trunc", Fn::trunc, [](double x) { return std::trunc(x); },
      "x rounded towards zero; integers unchanged; torch.trunc");
  op.samples = unary_samples(-9, 9) + unary_int_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_trunc
