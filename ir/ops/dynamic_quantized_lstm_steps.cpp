#include "ir/ops/_recurrent_layers.h"

namespace tcc::ir::ops::op_dynamic_quantized_lstm_steps {

OpDef make() {
  OpDef op = recurrent_steps_op(quantized_lstm_layer());
  op.tie_sensitive = true;
  using enum DType;
  const Type x{f32, {5, 2, 16}}, state{f32, {1, 2, 4}}, scale{f32, {1}};
  op.samples = {{.inputs = {x,
                            {i8, {1, 16, 4}},
                            {f32, {1, 16}},
                            {i32, {2}},
                            state,
                            state,
                            {f32, {1, 12}},
                            scale,
                            {i8, {1}}},
                 .attrs = {{"direction", "reverse"}},
                 .lo = 0.01,
                 .hi = 0.02,
                 .int_lo = 1,
                 .int_hi = 4},
                {.inputs = {x,
                            {u8, {1, 16, 4}},
                            {f32, {1, 16}},
                            {i32, {2}},
                            state,
                            state,
                            {f32, {1, 12}},
                            {f32, {16}},
                            {u8, {16}}},
                 .lo = 0.01,
                 .hi = 0.02,
                 .int_lo = 1,
                 .int_hi = 4}};
  return op;
}

}  // namespace tcc::ir::ops::op_dynamic_quantized_lstm_steps
