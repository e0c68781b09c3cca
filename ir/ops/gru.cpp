#include <utility>

#include "ir/ops/_recurrent.h"

namespace tcc::ir::ops::op_gru {
namespace {

enum Gate : int64_t { kUpdate, kReset, kHidden };

bool resets_after(const Node& node) { return node.attr<bool>("linear_before_reset"); }

// z and r * h, where both come from one product: what is done to its columns is done to them side
// by side, so that it is part of the product's kernel.
std::pair<Value*, Value*> update_and_reset(Builder& b, const RecurrentCell& cell, Value* projected,
                                           Value* h) {
  const int64_t hidden = cell.hidden;
  Value* sum = b.add(b.slice(projected, 2, 0, 2 * hidden), cell.product(b, h, 0, 2));
  Value* gates = cell.activate(b, 0, sum);
  Value* column = b.op("iota", {}, {{"size", Shape{2 * hidden}}, {"dim", int64_t{0}}});
  Value* is_update = b.op("lt", {column, b.scalar(DType::i64, static_cast<double>(hidden))});
  const Shape& shape = h->shape();
  Value* twice = b.expand(b.unsqueeze(h, 2), {shape[0], shape[1], 2, hidden});
  Value* state = b.reshape(twice, {shape[0], shape[1], 2 * hidden});
  Value* both = b.op("where", {is_update, gates, b.mul(gates, state)});
  return {cell.gate(b, both, kUpdate), cell.gate(b, both, kReset)};
}

RecurrentState step(Builder& b, const Node& node, const RecurrentCell& cell, Value* projected,
                    const RecurrentState& state) {
  Value* h = state[0];
  Value *z = nullptr, *reset = nullptr;
  // Reset after the product with h, or of h before it, which takes a product of its own.
  const bool after = resets_after(node);
  if (!after && cell.product) {
    const auto [update, reset_state] = update_and_reset(b, cell, projected, h);
    z = update;
    reset = cell.recurrent(b, reset_state, kHidden, 1)[0];
  } else {
    const std::vector<Value*> products = cell.recurrent(b, h, 0, after ? 3 : 2);
    const auto gate = [&](int64_t k) {
      return cell.activate(b, 0,
                           b.add(cell.gate(b, projected, k), products[static_cast<size_t>(k)]));
    };
    z = gate(kUpdate);
    Value* r = gate(kReset);
    reset = after ? b.mul(r, products[kHidden]) : cell.recurrent(b, b.mul(r, h), kHidden, 1)[0];
  }
  Value* candidate = cell.activate(b, 1, b.add(cell.gate(b, projected, kHidden), reset));
  // (1 - z) * candidate + z * h, in which all that is done follows the last product.
  return {b.add(candidate, b.mul(z, b.sub(h, candidate)))};
}

}  // namespace

OpDef make() {
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
      {{{f32, {2, 9, 3}}, w, r, bias}},  // rows that are a matrix product's
      {{{f32, {2, 9, 3}}, w, r, bias}, {{"linear_before_reset", true}}},
      {{{f16, {3, 1, 8}}, {f16, {1, 24, 8}}, {f16, {1, 24, 8}}}, {}, -1, 1},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_gru
