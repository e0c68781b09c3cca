// The steps of a recurrent layer, for kernels that take all of them: what the ops lstm_steps,
// gru_steps, rnn_steps and dynamic_quantized_lstm_steps compute, and their cell as a graph of
// scalars.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tcc::ir {

struct RecurrentSteps {
  SymInt steps = 0, batch = 0;  // either may come at run time
  int64_t hidden = 0, directions = 1;
  int64_t gates = 1, states = 1;  // h, and c where the cell has it
  bool reverse = false;           // of one direction; of two, the second runs backwards
  // Operands; null where they are omitted.
  const Value* projected = nullptr;   // [steps, batch, directions * gates * hidden]
  const Value* weight = nullptr;      // [directions, gates * hidden, hidden]
  const Value* bias = nullptr;        // [directions, gates * hidden]
  const Value* lengths = nullptr;     // [batch]
  const Value* peepholes = nullptr;   // [directions, 3 * hidden]
  std::vector<const Value*> initial;  // of each state, [directions, batch, hidden]
  // The scale and, unless it is 0, the zero point of weights of 8-bit integers, [1] or [gates *
  // hidden]. These multiply an h that each step quantizes by its range. Null: weights are floats.
  const Value *weight_scale = nullptr, *weight_zero = nullptr;
};
// Reads an op of steps; nothing for other nodes.
std::optional<RecurrentSteps> recurrent_steps(const Node& node);

// One element of a step. All values have three dims, of which the first two are 1.
struct RecurrentCellGraph {
  // Its outputs are the next states and, where gates from `first_gates` on are not products of h
  // itself, what these are products of: it follows from the products of the gates before them.
  Graph graph;
  Value* projected = nullptr;    // [1, 1, gates]
  Value* bias = nullptr;         // [1, 1, gates], or null
  Value* peepholes = nullptr;    // [1, 1, 3], or null
  Value* scale = nullptr;        // of the weights, [1, 1, gates], or null
  std::vector<Value*> products;  // with the weights of each gate
  std::vector<Value*> states;
  int64_t first_gates = 0;  // all gates, but where a step has a second product
};
// `node` is an op of steps. The graph is decomposed to primitives.
RecurrentCellGraph recurrent_cell(const Node& node);

// How a step of quantized weights quantizes h, as graphs of f32 scalars, decomposed to primitives.
struct RecurrentQuantization {
  // Inputs: the least and the largest element of h and 0. Outputs: the scale and the zero point.
  Graph of_range;
  // Inputs: an element of h, the scale and the zero point. Output: what h is a multiple of the
  // scale of.
  Graph of_element;
};
RecurrentQuantization recurrent_quantization();

}  // namespace tcc::ir
