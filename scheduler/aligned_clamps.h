// Selects between operands that lie side by side, as those of a cat.
#pragma once

#include <vector>

#include "ir/expr.h"

namespace tcc::sched {

// An operand's index is clamped where another one is selected. Where operands begin and end at
// whole vectors of lanes, one of them is selected for all lanes of a vector: the condition becomes
// that of the vector's first lane, and clamps move whole vectors, so that loads are contiguous in
// `lane`. What is selected stays the same; what is not may be another element of the same buffer.
void align_clamps(std::vector<ir::Expr>& values, const ir::SymInt& lane);

// Returns whether the index is known to be a multiple of the width. Clamped ones are multiples of
// what their bounds are multiples of.
inline bool begins_vector(const ir::SymInt& index, int64_t width) {
  return index.divisible_by(width) || index.known_power_of_two(width) % width == 0;
}

}  // namespace tcc::sched
