// Matrix products and convolutions share the rule for the dtype of their result.
#pragma once

#include "ir/op.h"

namespace tcc::ir::ops {

// "out_dtype" of products of integers and of f8; "none": that of the operands, which must be one.
AttrDef out_dtype_attr();

// Returns the dtype of the sum of products of operands 0 and 1. Floats have one dtype, and so has
// the result, but f8: its two kinds may be mixed and `out_dtype` names the result, of sums in f32.
// Integers may be mixed where `out_dtype` names the result: products and sums are exact modulo its
// range, whatever the operands' widths.
DType contracted_dtype(const InferContext& context);

}  // namespace tcc::ir::ops
