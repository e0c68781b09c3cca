#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_rsqrt {

OpDef make() {
  OpDef op = unary_float(
      "rsqrt", Fn::rsqrt, [](double x) { return 1 / std::sqrt(x); },
      "1 / sqrt(x); NaN below 0; torch.rsqrt");
  op.samples = unary_samples(0.1, 4) + unary_samples(-1, 1);
  return op;
}

}  // namespace tcc::ir::ops::op_rsqrt
