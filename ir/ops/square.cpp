#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_square {

OpDef make() {
  OpDef op = pointwise({.name = "square",
                        .operands = {"x"},
                        .doc = "x * x; torch.square",
                        .element = [](const Exprs& x) { return mul(x[0], x[0]); },
                        .on_floats = [](const Floats& x) { return x[0] * x[0]; },
                        .on_integers = [](const Ints& x) { return wrapping_mul(x[0], x[0]); }});
  op.samples = unary_samples() + unary_int_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_square
