#include "ir/ops/_elementwise.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_bitwise_xor {

OpDef make() {
  OpDef op = pointwise({.name = "bitwise_xor",
                        .operands = {"a", "b"},
                        .doc = "a ^ b, bit by bit, of integers or bools; torch.bitwise_xor",
                        .on_bool = true,
                        .element =
                            [](const Exprs& x) {
                              return call(Fn::bitwise_xor, {x[0], x[1]});
                            },
                        .on_integers = [](const Ints& x) { return x[0] ^ x[1]; }});
  op.samples = binary_int_samples(-100, 100);
  op.samples.push_back(binary_bool_sample());
  return op;
}

}  // namespace tcc::ir::ops::op_bitwise_xor
