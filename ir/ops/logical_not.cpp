#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_logical_not {

OpDef make() {
  OpDef op = pointwise({.name = "logical_not",
                        .operands = {"x"},
                        .doc = "x == 0, as bool; torch.logical_not",
                        .working = as_bool,
                        .on_bool = true,
                        .element = [](const Exprs& x) { return unary(Fn::logical_not, x[0]); },
                        .on_integers = [](const Ints& x) { return x[0] == 0; }});
  op.samples = unary_samples(0, 1) + unary_int_samples(0, 3);
  op.samples.push_back(unary_bool_sample());
  return op;
}

}  // namespace tcc::ir::ops::op_logical_not
