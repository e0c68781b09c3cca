// Quantisation, and products of quantised operands.
#include "frontend/onnx/narrow_types.h"
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "frontend/onnx/rules/_quantized.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

ir::Attrs along(OpNode& n, const Value* x, const Value* scale) {
  n.require(n.opset >= 21 || !n.has("block_size"), "block_size needs opset 21");
  const int64_t block = n.integer("block_size", 0);
  const int64_t axis = n.integer("axis", 1);
  if (is_single(scale)) return {};
  return {{"dim", n.axis(axis, x->rank())}, {"block_size", block}};
}

// The scale of every element of x, by broadcasting.
Value* spread_scale(OpNode& n, Value* x, Value* scale) {
  const ir::Attrs attrs = along(n, x, scale);
  if (attrs.empty()) return scale;
  const auto dim = std::get<int64_t>(attrs.at("dim")),
             block = std::get<int64_t>(attrs.at("block_size"));
  if (block == 0) return along_dim(n, scale, x, dim);
  Value* spread =
      n.b.op("repeat_interleave", {scale}, {{"repeats", block}, {"dim", ir::ints({dim})}});
  return n.b.slice(spread, dim, 0, x->shape()[static_cast<size_t>(dim)]);
}

// f8 is scaled only: its zero point is 0.
Results quantize_f8(OpNode& n, Value* x, Value* scale, DType dtype) {
  const bool saturate = n.integer("saturate", 1) != 0;
  return {n.b.op("to", {n.b.div(x, spread_scale(n, x, scale))},
                 {{"dtype", dtype}, {"saturate", saturate}})};
}

// To a narrow type: integers by way of their holder, which is wider.
Operand quantize_narrow(OpNode& n, Value* x, Value* scale, Value* zero, const NarrowType& type) {
  n.ignore("saturate");  // of integers
  if (!type.is_integer())
    return with_element_type(to_narrow(n, n.b.div(x, spread_scale(n, x, scale)), type), type.code);
  ir::Attrs attrs = along(n, x, scale);
  attrs["dtype"] = type.holder;
  Value* wide = n.b.op("quantize", {x, scale, zero}, attrs);
  Value* limited =
      n.b.op("clamp", {wide},
             {{"min", static_cast<double>(type.low)}, {"max", static_cast<double>(type.high)}});
  return with_element_type(limited, type.code);
}

// An attribute that names an element type, of which 0 is the default: nothing.
std::optional<int32_t> type_if_given(OpNode& n, std::string_view name) {
  return n.integer(name, 0) == 0 ? std::nullopt : n.element_type_attr(name);
}

Results quantize(OpNode& n) {
  Value *x = n.in(0), *scale = n.in(1), *zero = n.maybe(2);
  if (type_if_given(n, "precision")) {
    const DType precision = *n.dtype_attr("precision");
    x = n.b.cast(x, precision);
    scale = n.b.cast(scale, precision);
  }
  const auto output = type_if_given(n, "output_dtype");
  const NarrowType* narrow = narrow_type(zero ? n.operand(2).narrow : output.value_or(0));
  if (narrow) return {quantize_narrow(n, x, scale, zero, *narrow)};
  const DType dtype = zero ? zero->dtype() : output ? *n.dtype_attr("output_dtype") : DType::u8;
  if (is_f8(dtype)) return quantize_f8(n, x, scale, dtype);
  n.ignore("saturate");
  ir::Attrs attrs = along(n, x, scale);
  attrs["dtype"] = dtype;
  return {n.b.op("quantize", {x, scale, zero}, attrs)};
}

// The product is computed in the wider of the scale's type and the result's.
Results dequantize(OpNode& n) {
  Value *x = n.in(0), *scale = n.in(1), *zero = n.maybe(2);
  n.require(!narrow_type(n.operand(1).narrow) || type_if_given(n, "output_dtype"),
            "a scale of FLOAT8E8M0 needs output_dtype");
  const DType dtype =
      type_if_given(n, "output_dtype") ? *n.dtype_attr("output_dtype") : scale->dtype();
  if (size_bytes(dtype) > size_bytes(scale->dtype())) scale = n.b.cast(scale, dtype);
  if (is_float(x->dtype()))  // is scaled only: its zero point is 0
    return {n.b.cast(n.b.mul(n.b.cast(x, scale->dtype()), spread_scale(n, x, scale)), dtype)};
  return {n.b.cast(n.b.op("dequantize", {x, scale, zero}, along(n, x, scale)), dtype)};
}

Results dynamic_quantize(OpNode& n) { return all_of(n.b.ops("dynamic_quantize", {n.in(0)})); }

Results matmul_integer(OpNode& n) {
  return {integer_product(n, n.in(0), n.maybe(2), n.in(1), n.maybe(3))};
}

// (a, scale, zero, b, scale, zero, scale, zero)
Results qlinear_matmul(OpNode& n) {
  Value* sum = integer_product(n, n.in(0), n.in(2), n.in(3), n.in(5));
  return {requantized(n, sum, n.in(1), n.in(4), n.in(6), n.in(7))};
}

Results conv_integer(OpNode& n) {
  return {integer_convolution(n, n.in(0), n.maybe(2), n.in(1), n.maybe(3), nullptr)};
}

// (x, scale, zero, w, scale, zero, scale, zero, bias); the weight's scale may be one per channel.
Results qlinear_conv(OpNode& n) {
  Value* x = n.in(0);
  Value* sum = integer_convolution(n, x, n.in(2), n.in(3), n.in(5), n.maybe(8));
  Value* scale_w = n.in(4);
  if (scale_w->rank() == 1) scale_w = along_dim(n, scale_w, x, 1);
  return {requantized(n, sum, n.in(1), scale_w, n.in(6), n.in(7))};
}

constexpr Rule kQuantizationRules[] = {
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize},
    {"DequantizeLinear", dequantize, "com.microsoft"},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"MatMulInteger", matmul_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize},
    {"QuantizeLinear", quantize, "com.microsoft"},
};

}  // namespace

std::span<const Rule> quantization_rules() { return kQuantizationRules; }

}  // namespace tcc::onnx
