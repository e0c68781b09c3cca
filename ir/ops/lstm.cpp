#include "ir/ops/_recurrent_layers.h"

namespace tcc::ir::ops::op_lstm {

OpDef make() {
  RecurrentOp layer = lstm_layer();
  layer.doc =
      "A layer of long short-term memory over x [T, B, I]: weights [D, 4 H, I] and [D, 4 H, H], "
      "gates in the order input, output, forget, cell; ONNX's LSTM, torch.nn.LSTM";
  OpDef op = recurrent_op(layer);
  using enum DType;
  const Type x{f32, {5, 2, 3}}, w{f32, {1, 16, 3}}, r{f32, {1, 16, 4}}, bias{f32, {1, 32}},
      state{f32, {1, 2, 4}}, lengths{i32, {2}}, peepholes{f32, {1, 12}};
  op.samples = {
      {{x, w, r}},
      {.inputs = {x, w, r, bias, lengths, state, state, peepholes},
       .attrs = {{"direction", "reverse"}},
       .int_lo = 1,
       .int_hi = 6},
      {{{f32, {2, 5, 3}}, {f32, {2, 16, 3}}, {f32, {2, 16, 4}}, {f32, {2, 32}}},
       {{"direction", "bidirectional"}, {"layout", int64_t{1}}, {"clip", 0.5}}},
      {{x, w, r, bias},
       {{"activations", "HardSigmoid Softsign leaky_relu"},
        {"activation_alpha", std::vector<double>{0.3}},
        {"input_forget", true}}},
      {{{f32, {2, 9, 3}}, w, r, bias}},  // rows that are a matrix product's
      {{{f16, {3, 1, 8}}, {f16, {1, 32, 8}}, {f16, {1, 32, 8}}, {f16, {1, 64}}}, {}, -1, 1},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_lstm
