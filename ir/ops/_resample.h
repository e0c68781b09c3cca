// Resampling reads at positions that are exact fractions of integers rather than floating point, so
// that no rounding decides which element is the nearest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// p / q, in lowest terms for constants.
struct Ratio {
  SymInt p = 1, q = 1;
};

Ratio lowest_terms(const SymInt& p, const SymInt& q);
// The ratio with the smallest denominator that `value` (finite) is within rounding - that of f32
// where it is a value of f32, so that 0.6f means 3/5; of powers of two otherwise.
Ratio to_ratio(double value);

// One dim that is resampled; `scale` is output positions per input position, which the extents only
// give when nothing else is said.
struct ResampledDim {
  SymInt in, out;
  Ratio scale;
  bool scale_given = false;
  double roi_start = 0, roi_end = 1;  // of tf_crop_and_resize, in units of in - 1

  bool changes() const;
};
// Dim `d` of a node with the attributes `size`, `scale` and `roi`: lists with an entry per dim, of
// which the last two may be empty. `roi` holds all starts, then all ends.
ResampledDim resampled_dim(const Node& node, size_t d);

// Returns the input position of output position o: (step * o + start) / unit, in input elements.
struct Position {
  SymInt step, start, unit = 1;
  SymInt at(const SymInt& o) const { return step * o + start; }
};
// Returns the positions for a `coordinate_transformation_mode`, as ONNX's Resize defines it.
Position position(const ResampledDim& dim, const std::string& mode);
// Returns whether output position o lies in the input; null for always.
Expr is_inside(const ResampledDim& dim, const Position& position, const SymInt& o);

// The attributes that the resampling ops share.
std::vector<AttrDef> resample_attrs();
// Checks them and gives the type of the result.
std::vector<Type> infer_resample(const InferContext& context);

Expr as_number(const SymInt& value, DType dtype);

// ---- for references, in plain numbers

// The elements along one dim that an output position is the weighted sum of; none where it lies
// outside and takes the extrapolation value.
struct HostTaps {
  bool inside = true;
  std::vector<std::pair<int64_t, double>> taps;
};
// `taps_of(position, o)` for all o of a dim that changes; {o, 1} of one that does not.
std::vector<HostTaps> host_table(
    const Node& node, size_t d,
    const std::function<HostTaps(const ResampledDim&, const Position&, int64_t o)>& taps_of);
bool host_inside(const ResampledDim& dim, const Position& position, int64_t o);
// Fills the output, with one table of taps per dim.
void resample_reference(EvalContext& context, const std::vector<std::vector<HostTaps>>& tables);

}  // namespace tcc::ir::ops
