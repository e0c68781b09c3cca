// Makes the products of a recurrent step: the state with the weights of some gates.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// Return h [D, B, hidden] times gates [first, first + count) of weights [D, gates * hidden,
// hidden], which have h's dtype: [D, B, hidden] each, as the dtype that h is computed in.
//
// Makes the products as separate sums, which one kernel computes with everything that follows for
// the same element.
std::vector<Value*> dot_products(Builder& b, Value* h, Value* weight, int64_t first, int64_t count);
// Makes them as columns of one matrix product: [D, B, count * hidden].
Value* matrix_product(Builder& b, Value* h, Value* weight, int64_t first, int64_t count);

// 8-bit weights [N, K] with a scale and a zero point, which may be null: one each, or one per row.
struct IntegerWeights {
  Value *weight, *scale, *zero;
};
// The scale and the zero point have one element or one per row.
IntegerWeights integer_weights(Builder& b, Value* weight, Value* scale, Value* zero);
// Rows [first, end).
IntegerWeights rows_of(Builder& b, const IntegerWeights& weights, int64_t first, int64_t end);

// Returns x quantized by its range.
struct QuantizedInput {
  Value *x, *scale, *zero;
};
QuantizedInput quantize_by_range(Builder& b, Value* x);

// Returns x [..., K] times weights: [..., N] numbers. `as_sums` makes them sums that fuse with the
// ops that follow, instead of a matrix product.
Value* integer_product(Builder& b, const QuantizedInput& x, const IntegerWeights& weights,
                       bool as_sums);

}  // namespace tcc::ir::ops
