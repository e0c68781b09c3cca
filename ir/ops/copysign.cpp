#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_copysign {

OpDef make() {
  OpDef op = pointwise({.name = "copysign",
                        .operands = {"a", "b"},
                        .doc = "The magnitude of a with the sign of b; torch.copysign",
                        .working = as_float,
                        .element =
                            [](const Exprs& x) {
                              return call(Fn::copysign, {x[0], x[1]});
                            },
                        .on_floats = [](const Floats& x) { return std::copysign(x[0], x[1]); }});
  op.samples = binary_samples() + int_float_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_copysign
