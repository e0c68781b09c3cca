#include "ir/ops/_recurrent_layers.h"

namespace tcc::ir::ops::op_dynamic_quantized_lstm {

OpDef make() {
  RecurrentOp layer = quantized_lstm_layer();
  layer.doc =
      "lstm with 8-bit weights, of one scale and zero point for each direction or row; x, and h at "
      "each step, are quantized by their range; torch.ao.nn.quantized.dynamic.LSTM";
  OpDef op = recurrent_op(layer);
  op.tie_sensitive = true;
  using enum DType;
  const Type bias{f32, {1, 32}}, lengths{i32, {2}}, state{f32, {1, 2, 4}}, peepholes{f32, {1, 12}};
  op.samples = {{.inputs = {{f32, {3, 2, 5}},
                            {i8, {1, 16, 5}},
                            {i8, {1, 16, 4}},
                            bias,
                            lengths,
                            state,
                            state,
                            peepholes,
                            {f32, {1}},
                            {i8, {1}},
                            {f32, {1}},
                            {i8, {1}}},
                 .attrs = {{"direction", "reverse"}},
                 .lo = 0.01,
                 .hi = 0.02,
                 .int_lo = 1,
                 .int_hi = 4},
                {.inputs = {{f32, {3, 2, 5}},
                            {u8, {2, 16, 5}},
                            {u8, {2, 16, 4}},
                            {f32, {2, 32}},
                            lengths,
                            {f32, {2, 2, 4}},
                            {f32, {2, 2, 4}},
                            {f32, {2, 12}},
                            {f32, {2, 16}},
                            {u8, {2, 16}},
                            {f32, {2, 16}},
                            {u8, {2, 16}}},
                 .attrs = {{"direction", "bidirectional"}},
                 .lo = 0.01,
                 .hi = 0.02,
                 .int_lo = 1,
                 .int_hi = 4},
                {.inputs = {{f32, {2, 9, 5}},
                            {i8, {1, 16, 5}},
                            {i8, {1, 16, 4}},
                            bias,
                            {i32, {9}},
                            {f32, {1, 9, 4}},
                            {f32, {1, 9, 4}},
                            peepholes,
                            {f32, {1}},
                            {i8, {1}},
                            {f32, {1}},
                            {i8, {1}}},
                 .lo = 0.01,
                 .hi = 0.02,
                 .int_lo = 1,
                 .int_hi = 3}};
  return op;
}

}  // namespace tcc::ir::ops::op_dynamic_quantized_lstm
