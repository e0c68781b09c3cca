#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_floor_divide {

OpDef make() {
  OpDef op = pointwise(
      {.name = "floor_divide",
       .operands = {"a", "b"},
       .doc = "a / b rounded towards minus infinity; integers stay integers, x // 0 is 0; "
              "torch.floor_divide",
       .element =
           [](const Exprs& x) {
             return call(Fn::floordiv, {x[0], x[1]});
           },
       .on_floats = [](const Floats& x) { return floor_quotient(x[0], x[1]); },
       .on_integers = [](const Ints& x) { return floor_quotient(x.dtype, x[0], x[1]); }});
  op.samples = binary_samples(-4, 4) + binary_int_samples(-8, 8) + int_float_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_floor_divide
