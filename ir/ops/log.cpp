#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_log {

OpDef make() {
  OpDef op = unary_float(
      "log", Fn::log, [](double x) { return std::log(x); },
      "The natural logarithm; NaN below 0; torch.log");
  op.samples = unary_samples(0.1, 9) + unary_samples(-1, 1) + unary_int_samples(1, 9);
  return op;
}

}  // namespace tcc::ir::ops::op_log
