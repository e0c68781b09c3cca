// Normalisations and losses share these helpers. Statistics are computed in compute_dtype(): f32
// for f16 and bf16.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// Returns x minus its mean over `dims`, and its biased variance (dims kept), in two passes: the
// variance is the mean of the centered squares, which does not cancel as E[x^2] - E[x]^2 does. `x`
// has a compute dtype.
struct Moments {
  Value* centered;
  Value* variance;
  Value* mean;
};
Moments moments(Builder& b, Value* x, const std::vector<int64_t>& dims);

// Returns x / sqrt(variance + eps), in the dtype of x.
Value* scale_to_unit_variance(Builder& b, Value* x, Value* variance, double eps);

// Returns x * weight + bias in the dtype of x; either may be null. With `channel_dim` >= 0 they are
// vectors along that dim of x, else they broadcast as they are.
Value* affine(Builder& b, Value* x, Value* weight, Value* bias, int channel_dim = -1);

// Returns a vector [C] reshaped so that it broadcasts along `dim` of a rank-`rank` tensor: [C, 1,
// 1] for the channels of an image.
Value* along_dim(Builder& b, Value* vector, int dim, int rank);

// Returns the dims [first, rank) as a list.
std::vector<int64_t> dims_from(int first, int rank);
// Returns the dim that attribute `dim` names; 0 and -1 name the only element of a scalar.
int softmax_dim(const Node& node);

// exp(x - max) and its sum over `dim` (kept): the halves of every softmax. `x` has a compute dtype.
struct ShiftedExp {
  Value* shifted;  // x - max
  Value* exp;
  Value* sum;
};
ShiftedExp shifted_exp(Builder& b, Value* x, int64_t dim);

// `reduction`: none | mean (default) | sum.
AttrDef loss_reduction_attr();
// Returns the loss's type: `shape` for none, a scalar otherwise.
Type loss_type(const InferContext& context, DType dtype, const Shape& shape);
Value* reduce_loss(Builder& b, Value* loss, std::string_view reduction);

// Makes a loss of the difference x - target, element by element, reduced.
OpDef difference_loss(std::string name, std::string doc,
                      std::function<Value*(Builder&, Value* difference)> loss_of);

// Softmax along a dim; `finish` makes its elements from the shifted exponentials.
OpDef softmax_op(std::string name, std::string doc,
                 std::function<Value*(Builder&, const ShiftedExp&)> finish);

}  // namespace tcc::ir::ops
