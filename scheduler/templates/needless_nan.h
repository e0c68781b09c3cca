// The maxima of a reduction region that need not be NaN.
#pragma once

#include <vector>

#include "scheduler/templates/reduction_plan.h"

namespace tcc::sched {

// A softmax subtracts a row's maximum from elements whose exponentials it adds up, and divides by
// that sum. A NaN of the row is in the sum, too: all that is stored of the row is NaN, whatever the
// maximum is.
//
// Returns the number of a maximum in f32 of which this holds: in a row that has a NaN, every output
// is NaN or does not depend on this maximum. -1 where there is none. `elements` are what the
// reductions reduce, and `outputs` what is stored, as expressions of one row and column and of the
// reductions' results.
int find_needless_nan(const std::vector<ReductionPlan::Reduction>& reductions,
                      const std::vector<Expr>& elements, const std::vector<Expr>& outputs);

}  // namespace tcc::sched
