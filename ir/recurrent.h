// The steps of a recurrent layer, for kernels that take all of them: what the ops lstm_steps,
// gru_steps and rnn_steps compute, and their cell as a graph of scalars.
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
  std::vector<Value*> products;  // with the weights of each gate
  std::vector<Value*> states;
  int64_t first_gates = 0;  // all gates, but where a step has a second product
};
// `node` is an op of steps. The graph is decomposed to primitives.
RecurrentCellGraph recurrent_cell(const Node& node);

}  // namespace tcc::ir
