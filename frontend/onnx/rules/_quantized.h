// The operators of ONNX and those of ONNX Runtime share these functions: products of quantised
// integers, quantisation and dequantisation.
#pragma once

#include "frontend/onnx/op_node.h"

namespace tcc::onnx {

// One element, of any rank up to one: a scale or zero point of a whole tensor.
bool is_single(const Value* x);

// Returns the i32 product of integers less their zero points. A zero point may be null, a scalar,
// or one per row of `a` or column of `b`.
Value* integer_product(OpNode& n, Value* a, Value* zero_a, Value* b, Value* zero_b);
// Does the same for a convolution; zero_w may be one per channel.
Value* integer_convolution(OpNode& n, Value* x, Value* zero_x, Value* weight, Value* zero_w,
                           Value* bias);

// Dequantises integers of one scale and zero point (which may be null).
Value* dequantized(OpNode& n, Value* x, Value* scale, Value* zero);
// Quantises numbers to integers of the zero point's type, u8 without one.
Value* quantized(OpNode& n, Value* x, Value* scale, Value* zero);

// Multiplies i32 sums by the scales of both operands, divided by that of the result.
Value* requantized(OpNode& n, Value* sum, Value* scale_a, Value* scale_b, Value* scale,
                   Value* zero);

}  // namespace tcc::onnx
