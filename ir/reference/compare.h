// This rule decides whether a result is right, for --check, the tuner's gate and tests.
// docs/checking.md explains it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ir/op.h"

namespace tcc::ir {

struct Comparison {
  bool pass = true;
  // Floats, over the elements that are finite in `out` and in `ideal`; the relative error over
  // those whose ideal is not 0.
  double max_abs = 0, max_rel = 0;
  double rmse_out = 0;        // of out against ideal
  double rmse_stepwise = 0;   // of stepwise against ideal
  double noise = 0;           // RMSE that rounding as noise makes: the largest of the draws
  double limit = 0;           // what rmse_out may be
  int64_t nans = 0;           // in `out`
  int64_t nans_expected = 0;  // in `ideal`, rounded
  int64_t mismatches = 0;     // unequal integers; NaNs and infinities in the wrong place
  std::string reason;         // one line when it does not pass: the worst element and its index
};

// Floats pass when RMSE(out, ideal) <= 2 RMSE(stepwise, ideal) + 4 ulp RMS(ideal), ulp being
// 2^-mantissa_bits of out's dtype. NaNs and infinities stand where the ideal result, rounded to the
// dtype, or the stepwise one has them, and are left out of the sums: an f16 computation may
// overflow where an exact one does not. Integers and bools are equal to the stepwise result (the
// ideal one's floats that led to them were not rounded) or to the ideal one, element by element.
//
// `noisy` holds the same result of draws of RefMode::noisy; it is empty where the rule above is
// enough. Sums that cancel afterwards widen the limit to kNoiseShare RMSE(noisy, ideal), where that
// is more. Elements that are compared one by one may also equal those of a draw, since rounding
// decides them.
//
// A tensor of another dtype or shape than `ideal` does not pass.
Comparison compare(const RefTensor& out, const RefTensor& ideal, const RefTensor& stepwise,
                   std::span<const RefTensor> noisy = {});

}  // namespace tcc::ir
