#include "ir/ops/_recurrent_layers.h"

namespace tcc::ir::ops::op_gru {

OpDef make() {
  RecurrentOp layer = gru_layer();
  layer.doc =
      "A layer of gated recurrent units over x [T, B, I]: weights [D, 3 H, I] and [D, 3 H, H], "
      "gates in the order update, reset, hidden; ONNX's GRU, torch.nn.GRU with linear_before_reset";
  OpDef op = recurrent_op(layer);
  using enum DType;
  const Type x{f32, {5, 2, 3}}, w{f32, {1, 12, 3}}, r{f32, {1, 12, 4}}, bias{f32, {1, 24}},
      state{f32, {1, 2, 4}}, lengths{i32, {2}};
  op.samples = {
      {{x, w, r}},
      {{x, w, r, bias}, {{"linear_before_reset", true}, {"direction", "reverse"}}},
      {.inputs = {x, w, r, bias, lengths, state}, .int_lo = 1, .int_hi = 6},
      {{{f32, {2, 3, 3}}, {f32, {2, 12, 3}}, {f32, {2, 12, 4}}},
       {{"direction", "bidirectional"},
        {"layout", int64_t{1}},
        {"activations", "sigmoid scaled_tanh HardSigmoid elu"},
        {"activation_alpha", std::vector<double>{0.9, 0.25}}}},
      {{{f32, {2, 9, 3}}, w, r, bias}},  // rows that are a matrix product's
      {{{f32, {2, 9, 3}}, w, r, bias}, {{"linear_before_reset", true}}},
      {{{f16, {3, 1, 8}}, {f16, {1, 24, 8}}, {f16, {1, 24, 8}}}, {}, -1, 1},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_gru
