// The analysis of a contraction region as a matrix product: it says which axes are rows, columns
// and summed, which operand is on which side, and along which axis each can be read in vectors.
#pragma once

#include <vector>

#include "scheduler/inline.h"
#include "scheduler/kernel.h"
#include "scheduler/refusal.h"
#include "scheduler/templates/operand_rows.h"

namespace tcc::sched {

// An axis list flattened to one index: its extents, outermost first.
struct FlatAxes {
  std::vector<SymInt> extents;
  std::vector<size_t> position;  // of each in the op's own list (after batch axes were moved)
  SymInt size() const;
  // The same where all extents are numbers. Throws Error(bad_input) for an open dim.
  int64_t fixed_size() const { return size().value(); }
};

struct ContractionPlan {
  // One operand as the kernel sees it: `free` is m for A and n for B.
  struct Operand {
    int input = 0;        // of the anchor node
    bool along_k = true;  // vectors run along k; else along the free axis
    int64_t vector = 1;   // elements of one read
  };
  bool swapped = false;  // rows are the op's n axes
  FlatAxes batch, m, n, k;
  Operand a, b;
  bool fold = false;  // an output is wide enough that long sums must be folded in parts
  DType accumulator = DType::f32;  // accumulator_dtype of the result
  ir::Contraction op;
  OperandRows rows;
  // Moved batch axes: the op's batch axes that only one operand has count as its free axes.
  std::vector<int> batch_as_m, batch_as_n, batch_kept;

  // A multiplication and an addition for each product, of the usual size.
  exec::Amount flops() const;

  // The op's own axes from flat indices.
  struct Axes {
    std::vector<SymInt> batch, m, n, k;
  };
  Axes axes(const SymInt& batch_index, const SymInt& m_index, const SymInt& n_index,
            const SymInt& k_index) const;
};

// Returns the dtype of sums of products for a result of `dtype`: f32 for narrower floats, and for
// integers registers of 32 bits or more, whose sums are those of the narrower type once they are
// wrapped.
DType accumulator_dtype(DType dtype);

// Returns whether the type is i8 or u8, which tensor cores and dp4a multiply.
inline bool is_byte(DType dtype) { return is_integer(dtype) && size_bytes(dtype) == 1; }

// Returns whether each output channel of the convolution is made of one input channel of its own:
// it is no matrix product, and becomes a serial loop of each element.
bool is_depthwise(const ir::Node& node);

// Returns whether the node is a convolution in groups of few channels, depthwise ones among them,
// whose image is not spread. Tiles of matrix units are larger than such groups.
bool has_small_groups(const ir::Node& node);

// Whether a template's kernels reduce rows of an operand.
enum class Rows : uint8_t { refused, reduced };

// Analyses a region. Refuses regions other than one contraction with pointwise prologues, in which
// rows of one operand may be reduced where the template does that, and an epilogue over its own
// elements. Vectors along k have at most `widest` elements, the others 8.
OrRefusal<ContractionPlan> plan_contraction(const Region& region, int64_t widest = 8,
                                            Rows rows = Rows::refused);

// Returns the element of operand A (or B) at flat indices, zero where the op's access is not valid.
// Results of rows are elements of plan.rows.results.
Expr operand_element(Inliner& inliner, const Region& region, const ContractionPlan& plan, bool of_a,
                     const SymInt& batch, const SymInt& free, const SymInt& k);
// The same with results of rows as the caller bound them.
Expr bound_element(Inliner& inliner, const Region& region, const ContractionPlan& plan, bool of_a,
                   const SymInt& batch, const SymInt& free, const SymInt& k);

// The load of the largest buffer in `e`, or null.
Expr main_load(const Region& region, const Expr& e);

// The offset and value that each of region.outputs stores, given the accumulator at flat (batch, m,
// n).
struct Stored {
  int buffer;
  SymInt offset;
  Expr value;
};
std::vector<Stored> stored_elements(Inliner& inliner, const Region& region,
                                    const ContractionPlan& plan, const Expr& accumulator,
                                    const SymInt& batch, const SymInt& m, const SymInt& n);

}  // namespace tcc::sched
