#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_mul {

OpDef make() {
  OpDef op = pointwise(
      {.name = "mul",
       .operands = {"a", "b"},
       .doc = "a * b; `and` of bools; torch.mul",
       .on_bool = true,
       .element =
           [](const Exprs& x) {
             return call(x.dtype == DType::boolean ? Fn::logical_and : Fn::mul, {x[0], x[1]});
           },
       .on_floats = [](const Floats& x) { return x[0] * x[1]; },
       .on_integers = [](const Ints& x) { return wrapping_mul(x[0], x[1]); }});
  op.samples = binary_samples() + binary_int_samples(-8, 8) + int_float_samples();
  op.samples.push_back(binary_bool_sample());
  return op;
}

}  // namespace tcc::ir::ops::op_mul
