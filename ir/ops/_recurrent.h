// What lstm, gru and rnn share: recurrent layers in ONNX's generality, unrolled over time. The
// input's projection is one matmul over all steps; a step is a matmul of the state and the gates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// One direction of a layer. Weights are slices of the op's operands; null where omitted.
struct RecurrentCell {
  int64_t hidden = 0;
  DType dtype;       // of x and the weights
  DType state;       // what gates and states are computed in
  Value* weight_hh;  // [gates * hidden, hidden]
  Value* bias_hh;    // [gates * hidden], where the op keeps it apart from the projection
  Value* peepholes;  // [3 * hidden]
  double clip = 0;   // 0: none
  std::vector<std::function<Value*(Builder&, Value*)>> activations;

  // Columns [gate, gate + count) of gates side by side, [B, gates * hidden] or [gates * hidden].
  Value* gate(Builder& b, Value* gates, int64_t gate, int64_t count = 1) const;
  // h [B, hidden] times the recurrent weights of some gates, in `state`.
  Value* recurrent(Builder& b, Value* h, int64_t gate, int64_t count) const;
  // Activation `k` of the clipped x.
  Value* activate(Builder& b, size_t k, Value* x) const;
};

// h and, for lstm, c: [B, hidden] each.
using RecurrentState = std::vector<Value*>;
// The state behind a step; `projected` is the input's part of the gates, [B, gates * hidden].
using RecurrentStep = std::function<RecurrentState(Builder&, const Node&, const RecurrentCell&,
                                                   Value* projected, const RecurrentState&)>;

struct RecurrentOp {
  std::string name, doc;
  int64_t gates;
  std::vector<std::string> activations;  // the defaults
  bool has_cell = false;                 // a second state and peepholes
  // The recurrent bias is not added to the projection, but by the step.
  std::function<bool(const Node&)> keeps_bias = {};
  std::vector<AttrDef> attrs = {};
  RecurrentStep step;
};
// The op, without samples. Operands, in ONNX's layout with D directions: x [T, B, I], weight_ih
// [D, gates * H, I], weight_hh [D, gates * H, H], bias [D, 2 * gates * H] (input's, then
// recurrent), sequence_lens [B], h0 [D, B, H], for lstm also c0 and peepholes [D, 3 * H]. Results:
// out [T, D, B, H], h [D, B, H] and for lstm c. With `layout` 1, x is [B, T, I], out [B, T, D, H]
// and states are [B, D, H].
OpDef recurrent_op(RecurrentOp spec);

}  // namespace tcc::ir::ops
