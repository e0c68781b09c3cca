#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_atan2 {

OpDef make() {
  OpDef op = pointwise({.name = "atan2",
                        .operands = {"a", "b"},
                        .doc = "The angle of the point (b, a), in (-pi, pi]; torch.atan2",
                        .working = as_float,
                        .element =
                            [](const Exprs& x) {
                              return call(Fn::atan2, {x[0], x[1]});
                            },
                        .on_floats = [](const Floats& x) { return std::atan2(x[0], x[1]); }});
  op.samples = binary_samples() + int_float_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_atan2
