#include "ir/ops/_elementwise.h"
#include "ir/ops/_integers.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_neg {

OpDef make() {
  OpDef op = pointwise({.name = "neg",
                        .operands = {"x"},
                        .doc = "-x; torch.neg",
                        .element = [](const Exprs& x) { return unary(Fn::neg, x[0]); },
                        .on_floats = [](const Floats& x) { return -x[0]; },
                        .on_integers = [](const Ints& x) { return wrapping_sub(0, x[0]); }});
  op.samples = unary_samples() + unary_int_samples(-8, 8);
  return op;
}

}  // namespace tcc::ir::ops::op_neg
