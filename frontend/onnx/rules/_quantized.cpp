#include "frontend/onnx/rules/_quantized.h"

#include "frontend/onnx/rules/_common.h"
#include "frontend/onnx/rules/_windows.h"

namespace tcc::onnx {
namespace {

// A zero point is a scalar, or one per row of A or column of B: a dim of its own at `dim`.
Value* without_zero_point(OpNode& n, Value* x, Value* zero, int64_t dim) {
  if (!zero) return x;
  Value* wide = n.b.cast(zero, DType::i32);
  if (is_single(zero)) {
    wide = n.b.reshape(wide, {});
  } else if (zero->rank() == 1) {
    wide = along_dim(n, wide, x, dim);
  }
  return n.b.sub(n.b.cast(x, DType::i32), wide);
}

}  // namespace

bool is_single(const Value* x) { return x->rank() == 0 || (x->rank() == 1 && x->shape()[0].is(1)); }

Value* integer_product(OpNode& n, Value* a, Value* zero_a, Value* b, Value* zero_b) {
  if (!zero_a && !zero_b) return n.b.op("matmul", {a, b}, {{"out_dtype", std::string("i32")}});
  return n.b.matmul(n.b.cast(without_zero_point(n, a, zero_a, -2), DType::i32),
                    n.b.cast(without_zero_point(n, b, zero_b, -1), DType::i32));
}

Value* integer_convolution(OpNode& n, Value* x, Value* zero_x, Value* weight, Value* zero_w,
                           Value* bias) {
  // Padding is the zero point, that is, nothing once that is subtracted.
  Value* a = n.b.cast(without_zero_point(n, x, zero_x, 1), DType::i32);
  Value* b = n.b.cast(without_zero_point(n, weight, zero_w, 0), DType::i32);
  return convolved(n, a, b, bias);
}

Value* dequantized(OpNode& n, Value* x, Value* scale, Value* zero) {
  return n.b.op("dequantize", {x, scale, zero});
}

Value* quantized(OpNode& n, Value* x, Value* scale, Value* zero) {
  return n.b.op("quantize", {x, scale, zero}, {{"dtype", zero ? zero->dtype() : DType::u8}});
}

Value* requantized(OpNode& n, Value* sum, Value* scale_a, Value* scale_b, Value* scale,
                   Value* zero) {
  Value* factor = n.b.div(n.b.mul(scale_a, scale_b), scale);
  Value* real = n.b.mul(n.b.cast(sum, DType::f32), factor);
  return quantized(n, real, n.b.scalar(DType::f32, 1), zero);
}

}  // namespace tcc::onnx
