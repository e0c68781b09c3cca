// Says which integers make sense for an input: ops that read it as numbers of rows, pages or keys
// expect others than any. Tools that draw inputs draw such.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace tcc::ir {

struct IndexRange {
  int64_t least = 0, most = 0;  // both included
  // Elements ascend from `least` to `most`: where sequences begin that lie one after the other, and
  // where the last one ends.
  bool ascending = false;
};

// Returns the integers that the op expects which reads an input of a bound graph, directly or
// converted; those of the first where there are several; nothing where any integers will do.
std::optional<IndexRange> index_range(const Graph& bound, const Value& input);

// Makes such a range the one of random draws of each input that has none of its own, so that what
// draws inputs of parts of the graph, as a tuner does, knows it after ops are taken apart.
void set_index_ranges(Graph& bound);

}  // namespace tcc::ir
