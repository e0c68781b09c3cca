#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_log2 {

OpDef make() {
  OpDef op = unary_float(
      "log2", Fn::log2, [](double x) { return std::log2(x); },
      "The logarithm to base 2; NaN below 0; torch.log2");
  op.samples = unary_samples(0.1, 9) + unary_samples(-1, 1);
  return op;
}

}  // namespace tcc::ir::ops::op_log2
