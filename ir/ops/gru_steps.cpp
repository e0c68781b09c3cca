#include "ir/ops/_recurrent_layers.h"

namespace tcc::ir::ops::op_gru_steps {

OpDef make() {
  OpDef op = recurrent_steps_op(gru_layer());
  using enum DType;
  const Type x{f32, {5, 2, 12}}, r{f32, {1, 12, 4}}, bias{f32, {1, 12}}, state{f32, {1, 2, 4}},
      lengths{i32, {2}};
  op.samples = {
      {{x, r}},
      {{x, r, bias}, {{"linear_before_reset", true}, {"direction", "reverse"}}},
      {.inputs = {x, r, bias, lengths, state},
       .attrs = {{"linear_before_reset", true}},
       .int_lo = 1,
       .int_hi = 6},
      {{{f16, {3, 9, 30}}, {f16, {2, 15, 5}}, {f16, {2, 15}}},
       {{"linear_before_reset", true}, {"direction", "bidirectional"}},
       -1,
       1},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_gru_steps
