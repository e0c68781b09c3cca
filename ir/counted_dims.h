// Dims whose sizes a run counts: NonZero has as many results as the data has elements that are not
// zero. Ops that count (OpDef::most_counted) have an attribute `size` with the dim's symbol.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/size_range.h"

namespace tcc::ir {

struct InferContext;

struct CountedDim {
  const Node* node;  // that counts
  std::string name;
  SymInt most;  // at most so many, by the shapes of what is counted
};

// The dim to which the node gives a size; nothing where it counts none or the size is a number.
std::optional<CountedDim> counted_dim(const Node& node);
// Those of the graph, in its order. Throws Error(bad_input) where two nodes count one dim, and
// where an input or a state has it.
std::vector<CountedDim> counted_dims(const Graph& graph);

// The dims in the shapes of the node's results and in its attributes: it runs once they are known.
std::set<std::string> open_dims_of(const Node& node);

// Throws Error(bad_input) for a graph of the user's in which a node counts no dim, or one uses a
// dim before the node that counts it.
void check_counting(const Graph& graph);

// The attribute `size` of an op that counts: one symbol, or a number once it is bound. Throws
// Error(bad_input) for anything else.
SymInt counted_size(const InferContext& context);

// The ranges, from 0 on, of the graph's counted dims but those that `numbers` or `open` has, where
// other dims have these numbers (defaults for the rest) and ranges.
SizeRanges counted_ranges(const Graph& graph, const Numbers& numbers, const SizeRanges& open);

// Throws Error(bad_input), which begins with `said` (by default "dim NAME"), for the name of a
// counted dim that a user gave a size to: a run does.
void refuse_counted(const Graph& graph, const std::string& name, const std::string& said = "");

}  // namespace tcc::ir
