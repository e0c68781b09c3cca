#include "ir/ops/_recurrent_layers.h"

namespace tcc::ir::ops::op_rnn {

OpDef make() {
  RecurrentOp layer = rnn_layer();
  layer.doc =
      "A simple recurrent layer over x [T, B, I]: h = tanh(x W^T + h R^T + biases), weights [D, H, "
      "I] and [D, H, H]; ONNX's RNN, torch.nn.RNN";
  OpDef op = recurrent_op(layer);
  using enum DType;
  const Type x{f32, {5, 2, 3}}, w{f32, {1, 4, 3}}, r{f32, {1, 4, 4}}, bias{f32, {1, 8}},
      state{f32, {1, 2, 4}}, lengths{i32, {2}};
  op.samples = {
      {{x, w, r}},
      {.inputs = {x, w, r, bias, lengths, state}, .int_lo = 1, .int_hi = 6},
      {{{f32, {9, 2, 3}}, {f32, {2, 4, 3}}, {f32, {2, 4, 4}}, {f32, {2, 8}}},
       {{"direction", "bidirectional"}, {"activations", "relu affine"}},
       -0.5,  // what these do not hold back must not grow from step to step
       0.5},
      {{{f32, {2, 1, 3}}, w, r}, {{"layout", int64_t{1}}, {"direction", "reverse"}}},
      {{{f32, {2, 9, 3}}, w, r, bias}},  // rows that are a matrix product's
      {{{bf16, {3, 1, 8}}, {bf16, {1, 8, 8}}, {bf16, {1, 8, 8}}}, {}, -1, 1},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_rnn
