#include <cmath>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_fmod {

OpDef make() {
  OpDef op = pointwise(
      {.name = "fmod",
       .operands = {"a", "b"},
       .doc = "a - trunc(a / b) * b, with the sign of a; integers: fmod(x, 0) is x; torch.fmod",
       .element =
           [](const Exprs& x) {
             return call(Fn::fmod, {x[0], x[1]});
           },
       .on_floats = [](const Floats& x) { return std::fmod(x[0], x[1]); },
       .on_integers = [](const Ints& x) { return trunc_remainder(x.dtype, x[0], x[1]); }});
  op.samples = binary_samples(-4, 4) + binary_int_samples(-8, 8) + int_float_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_fmod
