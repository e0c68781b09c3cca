#include "ir/ops/_recurrent_layers.h"

namespace tcc::ir::ops::op_rnn_steps {

OpDef make() {
  OpDef op = recurrent_steps_op(rnn_layer());
  using enum DType;
  const Type x{f32, {5, 2, 4}}, r{f32, {1, 4, 4}}, bias{f32, {1, 4}}, state{f32, {1, 2, 4}},
      lengths{i32, {2}};
  op.samples = {
      {{x, r}},
      {.inputs = {x, r, bias, lengths, state}, .int_lo = 1, .int_hi = 6},
      {{{f32, {9, 2, 10}}, {f32, {2, 5, 5}}},
       {{"direction", "bidirectional"}, {"activations", "affine"}, {"clip", 0.5}},
       -0.5,
       0.5},
      {{{bf16, {3, 9, 8}}, {bf16, {1, 8, 8}}}, {{"direction", "reverse"}}, -1, 1},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_rnn_steps
