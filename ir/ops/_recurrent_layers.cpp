#include "ir/ops/_recurrent_layers.h"

#include <utility>

namespace tcc::ir::ops {
namespace {

enum LstmGate : int64_t { kInput, kOutput, kForget, kCellGate };

RecurrentState lstm_step(Builder& b, const Node& node, const RecurrentCell& cell, Value* projected,
                         const RecurrentState& state) {
  Value* c = state[1];
  const std::vector<Value*> products = cell.recurrent(b, state[0], 0, 4);
  const auto gate = [&](int64_t k) {
    return b.add(cell.gate(b, projected, k), products[static_cast<size_t>(k)]);
  };
  // Peepholes, in the order of the gates: what a gate sees of a cell state.
  const auto sees = [&](int64_t k, Value* x, Value* cell_state) {
    return cell.peepholes ? b.add(x, b.mul(cell.gate(b, cell.peepholes, k), cell_state)) : x;
  };
  Value* i = cell.activate(b, 0, sees(kInput, gate(kInput), c));
  Value* f = node.attr<bool>("input_forget") ? b.sub(b.scalar(i->dtype(), 1), i)
                                             : cell.activate(b, 0, sees(kForget, gate(kForget), c));
  Value* next = b.add(b.mul(f, c), b.mul(i, cell.activate(b, 1, gate(kCellGate))));
  Value* o = cell.activate(b, 0, sees(kOutput, gate(kOutput), next));
  return {b.mul(o, cell.activate(b, 2, next)), next};
}

enum GruGate : int64_t { kUpdate, kReset, kCandidate };

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

RecurrentState gru_step(Builder& b, const Node& node, const RecurrentCell& cell, Value* projected,
                        const RecurrentState& state) {
  Value* h = state[0];
  Value *z = nullptr, *reset = nullptr;
  // Reset after the product with h, or of h before it, which takes a product of its own.
  const bool after = resets_after(node);
  if (!after && cell.product) {
    const auto [update, reset_state] = update_and_reset(b, cell, projected, h);
    z = update;
    reset = cell.recurrent(b, reset_state, kCandidate, 1)[0];
  } else {
    const std::vector<Value*> products = cell.recurrent(b, h, 0, after ? 3 : 2);
    const auto gate = [&](int64_t k) {
      return cell.activate(b, 0,
                           b.add(cell.gate(b, projected, k), products[static_cast<size_t>(k)]));
    };
    z = gate(kUpdate);
    Value* r = gate(kReset);
    reset =
        after ? b.mul(r, products[kCandidate]) : cell.recurrent(b, b.mul(r, h), kCandidate, 1)[0];
  }
  Value* candidate = cell.activate(b, 1, b.add(cell.gate(b, projected, kCandidate), reset));
  // (1 - z) * candidate + z * h, in which all that is done follows the last product.
  return {b.add(candidate, b.mul(z, b.sub(h, candidate)))};
}

}  // namespace

RecurrentOp lstm_layer() {
  RecurrentOp layer;
  layer.name = "lstm";
  layer.gates = 4;
  layer.activations = {"sigmoid", "tanh", "tanh"};
  layer.has_cell = true;
  layer.attrs = {{"input_forget", AttrType::boolean, false}};
  layer.step = lstm_step;
  return layer;
}

RecurrentOp quantized_lstm_layer() {
  RecurrentOp layer = lstm_layer();
  layer.name = "dynamic_quantized_lstm";
  layer.quantized = true;
  return layer;
}

RecurrentOp gru_layer() {
  RecurrentOp layer;
  layer.name = "gru";
  layer.gates = 3;
  layer.activations = {"sigmoid", "tanh"};
  layer.keeps_bias = resets_after;
  layer.attrs = {{"linear_before_reset", AttrType::boolean, false}};
  layer.step = gru_step;
  return layer;
}

RecurrentOp rnn_layer() {
  RecurrentOp layer;
  layer.name = "rnn";
  layer.gates = 1;
  layer.activations = {"tanh"};
  layer.step = [](Builder& b, const Node&, const RecurrentCell& cell, Value* projected,
                  const RecurrentState& state) -> RecurrentState {
    return {cell.activate(b, 0, b.add(projected, cell.recurrent(b, state[0], 0, 1)[0]))};
  };
  return layer;
}

}  // namespace tcc::ir::ops
