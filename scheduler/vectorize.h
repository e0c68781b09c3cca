// Computes several neighbouring elements at once: vector loads and stores around an unrolled loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/inline.h"
#include "scheduler/kernel.h"

namespace tcc::sched {

// A computed element is stored to a buffer, or to an array (register or shared).
struct Sink {
  int buffer = -1;
  Variable array = {};  // when buffer < 0
  SymInt offset;
  Expr value;
};

// Orders loads: those of the same element as the same type are equal.
struct LoadLess {
  bool operator()(const Expr& a, const Expr& b) const { return ir::compare(a, b) < 0; }
};

// Returns statements that compute and store every sink for `lane` in [0, its extent): loads that
// are contiguous in `lane` become load_vector, those that do not depend on it happen once,
// contiguous stores become store_vector. Values are those before all stores; where they are of a
// buffer that a sink writes, they are of the element that it stores.
Block vectorize(const std::vector<Sink>& sinks, const SymInt& lane);

// Does the same for values that the loop itself uses: `body` gets the rewritten values for one
// lane.
Block vectorize_values(const std::vector<Expr>& values, const SymInt& lane,
                       const std::function<Block(const std::vector<Expr>& values)>& body);

// Returns whether the lanes' serial reductions read neighbours. vectorize() runs their loops around
// the lanes', so that such loads are vectors.
bool has_vector_reductions(const std::vector<Expr>& values, const SymInt& lane);

// Where the elements of all lanes of a vector lie in one aligned vector in memory, in any order:
// returns the index of its first element. Neighbours lie so, and pairs that are swapped.
std::optional<SymInt> aligned_vector(const SymInt& index, const SymInt& lane);

// Declares the largest subexpressions of `values` that do not depend on `varying` axes and that are
// worth it (loads, calls), and replaces them by the variables.
Block hoist_invariants(std::vector<Expr>& values, const std::vector<SymInt>& varying);

}  // namespace tcc::sched
