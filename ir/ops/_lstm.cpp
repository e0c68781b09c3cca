#include "ir/ops/_lstm.h"

namespace tcc::ir::ops {
namespace {

enum Gate : int64_t { kInput, kOutput, kForget, kCellGate };

RecurrentState step(Builder& b, const Node& node, const RecurrentCell& cell, Value* projected,
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

}  // namespace

RecurrentOp lstm_layer() {
  RecurrentOp layer;
  layer.gates = 4;
  layer.activations = {"sigmoid", "tanh", "tanh"};
  layer.has_cell = true;
  layer.attrs = {{"input_forget", AttrType::boolean, false}};
  layer.step = step;
  return layer;
}

}  // namespace tcc::ir::ops
