#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_log10 {

OpDef make() {
  OpDef op = unary_float(
      "log10", Fn::log10, [](double x) { return std::log10(x); },
      "The logarithm to base 10; NaN below 0; torch.log10");
  op.samples = unary_samples(0.1, 9) + unary_samples(-1, 1);
  return op;
}

}  // namespace tcc::ir::ops::op_log10
