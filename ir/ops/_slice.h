// Equidistant pieces of one dim: slice, narrow, split, chunk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/ops/_movement.h"

namespace tcc::ir::ops {

// The elements start, start + step, ... of a dim.
struct SliceRange {
  int dim = 0;
  SymInt start, length;
  int64_t step = 1;
};

// Returns the range that the attributes `start`, `end` and `step` (> 0) of `node` choose from dim
// `dim` of a tensor of shape `x`: negative bounds count from the end, and both are brought into the
// dim. Where a size is symbolic, a start is taken to lie within it.
SliceRange slice_range(const Node& node, const Shape& x, int dim);
Shape sliced_shape(const Shape& x, const SliceRange& range);
// Returns the operand's index of element `index` of the slice.
std::vector<SymInt> sliced_source(const SliceRange& range, std::span<const SymInt> index);
// The reference of a slice that starts at `start`, counted from the front.
void copy_slice(EvalContext& context, int dim, int64_t start, int64_t step);

}  // namespace tcc::ir::ops
