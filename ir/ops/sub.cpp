#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_sub {

OpDef make() {
  OpDef op = pointwise({.name = "sub",
                        .operands = {"a", "b"},
                        .doc = "a - b; torch.sub",
                        .element = [](const Exprs& x) { return sub(x[0], x[1]); },
                        .on_floats = [](const Floats& x) { return x[0] - x[1]; },
                        .on_integers = [](const Ints& x) { return wrapping_sub(x[0], x[1]); }});
  op.samples = binary_samples() + binary_int_samples(-8, 8) + int_float_samples();
  return op;
}

}  // namespace tcc::ir::ops::op_sub
