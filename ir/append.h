// Rows that are appended to a state: the op `append`, whose kernels write the rows alone.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace tcc::ir {

// The result of the node is its state's memory, of which a run writes `rows` from `length` on along
// `dim`; no kernel reads the rest for it.
struct Append {
  const Value* state;
  const Value* rows;
  int dim;
  SymInt length;
  SymInt added() const { return rows->shape()[static_cast<size_t>(dim)]; }
  // The rows that the state must have room for in the run.
  SymInt needed() const { return length + added(); }
};

bool appends(const Node& node);
Append append_of(const Node& node);  // appends(node)

// The part of the value that kernels store: the rows of what is appended to a state, else the
// value.
const Value& stored_part(const Value& value);
// Where an element of that part lies in the value.
std::vector<SymInt> stored_index(const Value& value, std::vector<SymInt> index);
// The elements of that part, and their usual number, for estimates.
SymInt stored_elements(const Value* value);
int64_t usual_stored(const Value* value);

// The first state whose length is this dim; null: none.
const Value* state_of_length(const Graph& graph, std::string_view dim);

// Throws Error(bad_input), which names the state, where the length of a state is an expression in
// `graph` and a number in `bound`, the same graph: such a state would not grow. One of any size
// below 2^31 has no end, which its memory needs.
void check_growing_states(const Graph& graph, const Graph& bound);

}  // namespace tcc::ir
