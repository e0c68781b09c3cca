// A contraction's operand as it lies in memory, where that is an affine view of one buffer. Bulk
// and asynchronous copies need no more to load tiles of it without a thread's help.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executable/tensor_map.h"
#include "scheduler/templates/contraction_plan.h"

namespace tcc::sched {

// Element (batch, free, k) lies at offset + free * free_stride + k * k_stride + the batch axes'
// coordinates times their strides; all in elements, and expressions where dims are open.
struct OperandView {
  int buffer = 0;  // the kernel's slot
  DType dtype = DType::bf16;
  SymInt offset = 0, free_stride = 0, k_stride = 0;
  // The flat batch index's coordinate along an axis is batch / inside % extent; outermost first.
  // Axes along which the operand does not move are left out.
  struct BatchAxis {
    SymInt extent, stride, inside;
  };
  std::vector<BatchAxis> batch;

  // Returns whether rows of `bytes` bytes can be read whole: every stride but `along`'s is a
  // multiple for all sizes, and so is the offset. `along` is the stride that is 1.
  bool aligned(int64_t bytes, const SymInt& other_stride) const;
  // Bytes, at most 16, of which each such row's start is a multiple.
  int64_t alignment(const SymInt& other_stride) const;
};

// Returns whether the expression is of sizes alone: no axis of a loop is part of it, nor what a
// kernel loads.
bool is_of_sizes(const SymInt& value);
// Returns how much the offset grows with an axis of a loop, an expression of sizes alone; nothing
// where it is not the same everywhere, or negative.
std::optional<SymInt> stride_along(const SymInt& offset, const SymInt& axis);

// Returns whether the expression is a multiple of the power of two for all sizes.
bool is_multiple(const SymInt& value, int64_t power_of_two);

// The batch axes of a flat batch index of these extents, outermost first, from its strides along
// each; axes that are one in memory are joined.
std::vector<OperandView::BatchAxis> batch_axes(std::span<const SymInt> extents,
                                               std::span<const SymInt> strides);

// A batch's coordinate along one of the axes.
SymInt coordinate(const OperandView::BatchAxis& axis, const SymInt& batch);
// The offset of a batch's first element.
SymInt batch_offset(const OperandView& view, const SymInt& batch);

// A dim of an operand's matrix as a tensor map has it, in elements.
struct MapDim {
  SymInt extent, stride;
  int64_t box;  // of one load
};
// The tensor map of a view: the matrix's dims, innermost first, then the batch axes, innermost
// first, of which a load brings one element each.
exec::TensorMap tiled_map(const OperandView& view, std::string name,
                          const std::array<MapDim, 2>& matrix);

// Matrices of the result's shape that the region reads beside the operands, as residuals: element
// (batch, m, n) of each lies as above, m being `free` and n being `k`. Each is the only thing that
// is read from its buffer, as floats of 32 bits or less; n is contiguous, and all else is
// aligned to 16 bytes. At most `most` of them.
std::vector<OperandView> residual_views(const Region& region, const ContractionPlan& plan,
                                        size_t most);

// Bytes that are widened to the accumulator count as they are stored. Nothing where the operand is
// computed (a prologue, a convolution's padding) or its axes do not flatten to one stride each.
std::optional<OperandView> operand_view(const Region& region, const ContractionPlan& plan,
                                        bool of_a);

}  // namespace tcc::sched
