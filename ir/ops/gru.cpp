#include "ir/ops/_recurrent.h"

namespace tcc::ir::ops {
namespace {

enum Gate : int64_t { kUpdate, kReset, kHidden };

bool resets_after(const Node& node) { return node.attr<bool>("linear_before_reset"); }

RecurrentState step(Builder& b, const Node& node, const RecurrentCell& cell, Value* projected,
                    const RecurrentState& state) {
  Value* h = state[0];
  // Reset after the product with h, or of h before it, which takes a product of its own.
  const int64_t at_once = resets_after(node) ? 3 : 2;
  Value* recurrent = cell.recurrent(b, h, 0, at_once);
  if (cell.bias_hh) recurrent = b.add(recurrent, cell.bias_hh);
  const auto gate = [&](int64_t k) {
    Value* sum = b.add(cell.gate(b, projected, k), cell.gate(b, recurrent, k));
    return cell.activate(b, 0, sum);
  };
  Value* z = gate(kUpdate);
  Value* r = gate(kReset);
  Value* reset = resets_after(node) ? b.mul(r, cell.gate(b, recurrent, kHidden))
                                    : cell.recurrent(b, b.mul(r, h), kHidden, 1);
  Value* candidate = cell.activate(b, 1, b.add(cell.gate(b, projected, kHidden), reset));
  Value* one = b.scalar(z->dtype(), 1);
  return {b.add(b.mul(b.sub(one, z), candidate), b.mul(z, h))};
}

}  // namespace

OpDef make_gru() {
  OpDef op = recurrent_op(
      {.name = "gru",
       .doc = "A layer of gated recurrent units over x [T, B, I]: weights [D, 3 H, I] and [D, 3 H, "
              "H], gates in the order update, reset, hidden; ONNX's GRU, torch.nn.GRU with "
              "linear_before_reset",
       .gates = 3,
       .activations = {"sigmoid", "tanh"},
       .keeps_bias = resets_after,
       .attrs = {{"linear_before_reset", AttrType::boolean, false}},
       .step = step});
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
      {{{f16, {3, 1, 8}}, {f16, {1, 24, 8}}, {f16, {1, 24, 8}}}, {}, -1, 1},
  };
  return op;
}

}  // namespace tcc::ir::ops
