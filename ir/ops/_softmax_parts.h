// A softmax over the last dim with the log-sum-exp of its rows, of one maximum and one sum.
#pragma once

#include "ir/builder.h"

namespace tcc::ir::ops {

struct SoftmaxParts {
  Value* weights;  // NaN in a row of -inf
  Value* lse;      // [..., 1]; -inf in a row of -inf
};

SoftmaxParts softmax_parts(Builder& b, Value* scores);

// The same weights, 0 where they are NaN.
Value* without_nan(Builder& b, Value* weights);

}  // namespace tcc::ir::ops
