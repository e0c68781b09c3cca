// lstm, gru and rnn share this code: recurrent layers in ONNX's generality, unrolled over time. The
// input's projection is one matmul over all steps. A step is one kernel or two: the products of the
// state with the gates' weights, and the gates; both directions of a layer take their steps at
// once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// The weights of D directions that step together, slices of the op's operands; null where omitted.
struct RecurrentCell {
  int64_t hidden = 0;
  Value* bias_hh = nullptr;    // [D, 1, gates * hidden], where it is apart from the projection
  Value* peepholes = nullptr;  // [D, 1, 3 * hidden]
  double clip = 0;             // 0: none
  std::vector<std::function<Value*(Builder&, Value*)>> activations;
  // Returns h [D, B, hidden] times the recurrent weights of gates [first, first + count): either
  // sums, [D, B, hidden] each, which fuse with the ops that follow, or one product, [D, B, count *
  // hidden].
  std::function<std::vector<Value*>(Builder&, Value* h, int64_t first, int64_t count)> sums;
  std::function<Value*(Builder&, Value* h, int64_t first, int64_t count)> product;

  // Returns the columns of gate `k` of a value that has gates side by side: [D, B or 1, hidden].
  Value* gate(Builder& b, Value* gates, int64_t k) const;
  // Returns the columns of each gate, with their bias if the cell has it.
  std::vector<Value*> recurrent(Builder& b, Value* h, int64_t first, int64_t count) const;
  // Returns activation `k` of the clipped x.
  Value* activate(Builder& b, size_t k, Value* x) const;
};

// h and, for lstm, c: [D, B, hidden] each.
using RecurrentState = std::vector<Value*>;
// Returns the state after a step; `projected` is the input's part of the gates, [D, B, gates *
// hidden].
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
  // Weights are 8-bit integers with scales and zero points, four more operands; x and, at each
  // step, h are quantized by their range.
  bool quantized = false;
};
// The op, without samples. Operands, in ONNX's layout with D directions: x [T, B, I], weight_ih
// [D, gates * H, I], weight_hh [D, gates * H, H], bias [D, 2 * gates * H] (input's, then
// recurrent), sequence_lens [B], h0 [D, B, H], for lstm also c0 and peepholes [D, 3 * H]. Results:
// out [T, D, B, H], h [D, B, H] and for lstm c. With `layout` 1, x is [B, T, I], out [B, T, D, H]
// and states are [B, D, H]. Where weights are quantized: weight_ih_scale and weight_hh_scale,
// [D] or [D, gates * H], and their zero points of the same shapes, which may be omitted.
OpDef recurrent_op(RecurrentOp spec);

}  // namespace tcc::ir::ops
