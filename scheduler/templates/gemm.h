// What the matrix-unit templates share: a contraction as a matrix product of operands that matrix
// units read, and the defines and hooks that bring an operand to a device source.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "scheduler/template.h"
#include "scheduler/templates/contraction_hooks.h"
#include "scheduler/templates/matrix_operand.h"

namespace tcc::sched {

struct Gemm {
  ContractionPlan plan;
  MatrixOperand a, b;  // the plan's
  DType dtype = DType::bf16;

  // The sides of a kernel. With `swapped` its rows are the plan's columns, for results of few rows.
  struct Sides {
    const MatrixOperand &a, &b;
    int64_t m, n;
  };
  Sides sides(bool swapped) const;
};

// Nothing where the region is no product of matrices that the target's `unit` multiplies, where
// f32 results would lose bits by its truncated sums, or where it is too small to gain.
std::optional<Gemm> plan_gemm(const Region& region, const Target& target, std::string_view unit);

// Slots that the epilogue takes for each element of the result, storing included.
double epilogue_slots(const Region& region, const Gemm& gemm);

// The candidate that the model thinks fastest, each with the widest band of tiles that is legal;
// the space's first config where none is. Candidates lack "band".
Config fastest_candidate(std::span<const Config> candidates, const ConfigSpace& space,
                         const CostModel& cost);

// Fills in a kernel on a device source whose sides are A and B.
class GemmWriter {
 public:
  // The tile is the kernel's: as rows and columns of its own sides.
  GemmWriter(Kernel& kernel, const Region& region, const Target& target, const Gemm& gemm,
             bool swapped, const ContractionTile& tile);

  void define(std::string name, int64_t value);
  // OPERANDS, SIZE_M, SIZE_N, SIZE_K, BATCHES, SWAPPED, the epilogue, and flops.
  void product();
  // x_LOAD, x_MAJOR_K, x_BUFFER or x_VECTOR, and the hooks for them; `vectors`: asynchronous copies
  // are made by threads (vector_x), not by the copy engine.
  void operand(bool first, bool vectors);

 private:
  Kernel& kernel_;
  double rate_;
  const Region& region_;
  const Gemm& gemm_;
  bool swapped_;
  ContractionTile tile_;  // the plan's
  Gemm::Sides sides_;
  ContractionHooks hooks_;
};

}  // namespace tcc::sched
