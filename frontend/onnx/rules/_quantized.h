// The operators of ONNX and those of ONNX Runtime share these functions: products of quantised
// integers, quantisation and dequantisation.
#pragma once

#include "frontend/onnx/op_node.h"

namespace tcc::onnx {

// One element, of any rank up to one: a scale or zero point of a whole tensor.
bool is_single(const Value* x);

// The i32 product of integers less their zero points. A zero point may be null, a scalar, or one
// per row of `a` or column of `b`.
Value* integer_product(OpNode& n, Value* a, Value* zero_a, Value* b, Value* zero_b);
// The same of a convolution; zero_w may be one per channel.
Value* integer_convolution(OpNode& n, Value* x, Value* zero_x, Value* weight, Value* zero_w,
                           Value* bias);

// The numbers that integers of one scale and zero point (which may be null) stand for.
Value* dequantized(OpNode& n, Value* x, Value* scale, Value* zero);
// Numbers as integers of the zero point's type, u8 without one.
Value* quantized(OpNode& n, Value* x, Value* scale, Value* zero);

// i32 sums times the scales of both operands over that of the result.
Value* requantized(OpNode& n, Value* sum, Value* scale_a, Value* scale_b, Value* scale,
                   Value* zero);

}  // namespace tcc::onnx
