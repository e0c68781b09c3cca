#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_logical_xor {

OpDef make() {
  OpDef op = pointwise({.name = "logical_xor",
                        .operands = {"a", "b"},
                        .doc = "(a != 0) != (b != 0), as bool; torch.logical_xor",
                        .working = as_bool,
                        .on_bool = true,
                        .element =
                            [](const Exprs& x) {
                              return call(Fn::bitwise_xor, {x[0], x[1]});
                            },
                        .on_integers = [](const Ints& x) { return x[0] ^ x[1]; }});
  op.samples = binary_int_samples(0, 2) + int_float_samples();
  op.samples.push_back(binary_bool_sample());
  return op;
}

}  // namespace tcc::ir::ops::op_logical_xor
