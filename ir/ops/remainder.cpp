#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_remainder {

OpDef make() {
  OpDef op = pointwise(
      {.name = "remainder",
       .operands = {"a", "b"},
       .doc = "a - floor_divide(a, b) * b, with the sign of b; integers: x % 0 is x; "
              "torch.remainder",
       .element =
           [](const Exprs& x) {
             return call(Fn::remainder, {x[0], x[1]});
           },
       .on_floats = [](const Floats& x) { return floor_remainder(x[0], x[1]); },
       .on_integers = [](const Ints& x) { return floor_remainder(x.dtype, x[0], x[1]); }});
  op.samples = binary_samples(-4, 4) + binary_int_samples(-8, 8) + int_float_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_remainder
