// The analysis of a reduction region: rows that are reduced along their columns, once or in several
// dependent stages (mean, then variance), and outputs per element or per row.
#pragma once

#include <vector>

#include "scheduler/inline.h"
#include "scheduler/refusal.h"

namespace tcc::sched {

struct ReductionPlan {
  struct Reduction {
    const ir::Node* node;
    ReductionDims dims;
    int stage;              // 0 depends on no other reduction of the region
    ir::Variable result;    // of the row
    bool needs_nan = true;  // not of a maximum that may be any number where the row has a NaN
  };
  struct Output {
    const ir::Value* value;
    StoredThrough stored;
    bool full;  // one element per row and column; else one per row
  };
  std::vector<Reduction> reductions;  // by stage
  std::vector<Output> outputs;
  SymInt rows = 0, columns = 0;
  int64_t cols = 0;  // the usual ones, for estimates
  int stages = 0;
  bool inner = true;  // neighbouring columns are neighbours in memory, else neighbouring rows are
  // Kernels walk through a row in the order of memory, where that is another one than the row's and
  // columns are no open dim:
  // the digits of the walk's number, outermost first, and how far each goes in the row.
  struct Digit {
    int64_t extent, step;
  };
  std::vector<Digit> walk;
  // Elements that lie one after the other: of a row, in the walk's order, or of rows.
  int64_t run = 1;
  // A row's maximum and the sum of its exponentials relative to it, in f32.
  bool exponentials = false;
  // One walk of the row can compute both.
  bool online = false;

  // Whether rows are whole vectors of so many neighbours.
  bool has_whole(int64_t vector) const {
    return columns.is(0) ? vector == 1 : columns.divisible_by(vector);
  }
  // The column at a place of the walk.
  SymInt column(const SymInt& place) const;
};

// Refuses reductions that do not share rows and columns, and outputs that need another row's
// result.
OrRefusal<ReductionPlan> plan_reduction(const Region& region);

// Returns how many of the region's reductions depend on each other up to `value`, in a row: 0 where
// it is made of none. `memo` is of one region.
int reduction_stage(const Region& region, const ir::Value* value,
                    std::map<const ir::Value*, int>& memo);

// These return the element of a reduction's input, and of an output's base value, at (row, col).
Expr reduction_body(Inliner& inliner, const ReductionPlan::Reduction& reduction, const SymInt& row,
                    const SymInt& col);
std::vector<SymInt> output_base_index(const ReductionPlan& plan,
                                      const ReductionPlan::Output& output, const SymInt& row,
                                      const SymInt& col);
// Makes the results of the reductions available as variables: those of `row`, no other row's.
void bind_reductions(Inliner& inliner, const ReductionPlan& plan, const SymInt& row);

// Returns whether the load's address depends on a reduced value (an argmax that a gather reads at),
// so that it cannot be issued before that is known.
bool waits_for_reduction(const Expr& load);

}  // namespace tcc::sched
