#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_sigmoid {

OpDef make() {
  OpDef op = unary_float(
      "sigmoid", Fn::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); },
      "1 / (1 + e^-x); torch.sigmoid");
  op.samples = unary_samples(-8, 8) + unary_int_samples(-3, 4);
  return op;
}

}  // namespace tcc::ir::ops::op_sigmoid
