// Where interpolate reads: exact index arithmetic, in rationals rather than in floating point.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/op.h"

namespace tcc::ir::ops {

// p / q, in lowest terms for constants.
struct Ratio {
  SymInt p = 1, q = 1;
};

Ratio lowest_terms(const SymInt& p, const SymInt& q);
// The ratio with the smallest denominator that `value` (> 0, finite) is within rounding; of powers
// of two otherwise.
Ratio to_ratio(double value);

// How one spatial dim is resampled: the input's extent, the output's, and input positions per
// output position.
struct Resampled {
  SymInt in, out;
  Ratio step;
};

// The two neighbours of output position o and the weight, p / q, of the second one.
struct Neighbours {
  SymInt first, second;
  Ratio weight;
};

// PyTorch's mode "nearest": floor(o * step); with `exact`, that of pixel centers, "nearest-exact".
SymInt nearest(const Resampled& dim, const SymInt& o, bool exact);
// PyTorch's linear modes, between pixel centers; with `align_corners` the corner pixels' centers
// are fixed.
Neighbours linear(const Resampled& dim, const SymInt& o, bool align_corners);

}  // namespace tcc::ir::ops
