// Says how the matrix-unit device sources (gemm_sm90, gemm_sm80) read an operand, and makes its
// hooks.
#pragma once

#include "backends/device/common/matrix.h"
#include "scheduler/templates/operand_view.h"

namespace tcc::sched {

struct MatrixOperand {
  using Load = kernels::Load;  // tiles: in whole vectors of `alignment` bytes
  Load load = Load::computed;
  bool major_k = true;    // neighbours in memory are neighbours along k; else along the own axis
  int64_t alignment = 2;  // bytes that every line's start is a multiple of; at most 16
  int64_t vector = 1;     // elements that the load hook brings at once
  OperandView view;       // unless computed
  bool fixed = false;     // no kernel writes what the view reads
  DType dtype = DType::bf16;  // what the matrix unit reads: bf16, f16, f32 (as tf32), f8, i8 or u8

  // The distance of lines in elements; a line runs along k, or along the operand's own axis.
  const SymInt& line_stride() const { return major_k ? view.free_stride : view.k_stride; }
};

// Gives nothing where matrix units cannot read the operand: other types, and f32 that must stay
// exact. `of_a` says whether it is the plan's A or B.
std::optional<MatrixOperand> matrix_operand(const Region& region, const ContractionPlan& plan,
                                            bool of_a);

// Describes the operand as one whose values threads convert to `dtype`.
MatrixOperand converted_operand(const ContractionPlan& plan, bool of_a, DType dtype);

// Describes an operand that is a view of elements of any type, as its lines lie in memory.
MatrixOperand described_operand(const Region& region, const OperandView& view,
                                const ContractionPlan& plan, bool of_a);

// Returns whether matrix units read elements of the type along k alone.
inline bool along_k_alone(DType dtype) { return size_bytes(dtype) == 1; }

// Says that the kernel's source reads whole vectors of the operand's buffer, where it does.
void need_alignment(Kernel& kernel, const MatrixOperand& operand);
void need_alignment(Kernel& kernel, const OperandView& view, int64_t alignment);

// `name`(batch, line) -> i64: the offset of a line's first element in the operand's buffer.
Hook line_hook(const MatrixOperand& operand, const ContractionPlan& plan, std::string name);

// `name`(batch, at, k) -> i64: the offset of a vector of `alignment` bytes; along k, `k` counts
// vectors, else `at` does.
Hook vector_hook(const MatrixOperand& operand, const ContractionPlan& plan, std::string name);

// `name`(batch, at, k) -> i32: the number of a chunk of so many bytes in the operand's buffer.
// Where the operand is contiguous along k, `at` is a row or column and `k` counts chunks; else it
// is the other way round.
Hook chunk_hook(const MatrixOperand& operand, int64_t bytes, const ContractionPlan& plan, bool of_a,
                std::string name);

// `name`(batch, c[3]): the coordinates of a batch of `batches` along the view's batch axes,
// innermost first.
Hook coordinates_hook(const OperandView& view, const SymInt& batches, std::string name);
Hook batch_hook(const MatrixOperand& operand, const ContractionPlan& plan, std::string name);

// `name`(batch, c[3]): in c[0], how many elements the batch begins after the first one.
Hook group_hook(const MatrixOperand& operand, const ContractionPlan& plan, std::string name);

}  // namespace tcc::sched
