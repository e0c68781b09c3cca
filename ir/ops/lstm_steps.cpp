#include "ir/ops/_recurrent_layers.h"

namespace tcc::ir::ops::op_lstm_steps {

OpDef make() {
  OpDef op = recurrent_steps_op(lstm_layer());
  using enum DType;
  const Type x{f32, {5, 2, 16}}, r{f32, {1, 16, 4}}, bias{f32, {1, 16}}, state{f32, {1, 2, 4}},
      lengths{i32, {2}}, peepholes{f32, {1, 12}};
  op.samples = {
      {{x, r}},
      {.inputs = {x, r, bias, lengths, state, state, peepholes},
       .attrs = {{"direction", "reverse"}},
       .int_lo = 1,
       .int_hi = 6},
      {{x, r},
       {{"activations", "HardSigmoid Softsign leaky_relu"},
        {"activation_alpha", std::vector<double>{0.3}},
        {"input_forget", true}}},
      {{{f16, {3, 9, 40}}, {f16, {2, 20, 5}}}, {{"direction", "bidirectional"}}, -1, 1},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_lstm_steps
