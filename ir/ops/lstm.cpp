#include "ir/ops/_recurrent.h"

namespace tcc::ir::ops {
namespace {

enum Gate : int64_t { kInput, kOutput, kForget, kCell };

RecurrentState step(Builder& b, const Node& node, const RecurrentCell& cell, Value* projected,
                    const RecurrentState& state) {
  Value* c = state[1];
  Value* gates = b.add(projected, cell.recurrent(b, state[0], 0, 4));
  const auto gate = [&](int64_t k) { return cell.gate(b, gates, k); };
  // Peepholes, in the order of the gates: what a gate sees of a cell state.
  const auto sees = [&](int64_t k, Value* x, Value* cell_state) {
    return cell.peepholes ? b.add(x, b.mul(cell.gate(b, cell.peepholes, k), cell_state)) : x;
  };
  Value* i = cell.activate(b, 0, sees(kInput, gate(kInput), c));
  Value* f = node.attr<bool>("input_forget") ? b.sub(b.scalar(i->dtype(), 1), i)
                                             : cell.activate(b, 0, sees(kForget, gate(kForget), c));
  Value* next = b.add(b.mul(f, c), b.mul(i, cell.activate(b, 1, gate(kCell))));
  Value* o = cell.activate(b, 0, sees(kOutput, gate(kOutput), next));
  return {b.mul(o, cell.activate(b, 2, next)), next};
}

}  // namespace

OpDef make_lstm() {
  OpDef op = recurrent_op(
      {.name = "lstm",
       .doc =
           "A layer of long short-term memory over x [T, B, I]: weights [D, 4 H, I] and [D, 4 H, "
           "H], gates in the order input, output, forget, cell; ONNX's LSTM, torch.nn.LSTM",
       .gates = 4,
       .activations = {"sigmoid", "tanh", "tanh"},
       .has_cell = true,
       .attrs = {{"input_forget", AttrType::boolean, false}},
       .step = step});
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
      {{{f16, {3, 1, 8}}, {f16, {1, 32, 8}}, {f16, {1, 32, 8}}, {f16, {1, 64}}}, {}, -1, 1},
  };
  return op;
}

}  // namespace tcc::ir::ops
