#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_quantization.h"

namespace tcc::ir::ops::op_quantize {
namespace {

// The dtype that x is divided by scale in.
DType quotient_dtype(DType x, DType scale) {
  return compute_dtype(is_float(x) ? promote(x, scale) : scale);
}

struct Range {
  int64_t low, high;
};

Range range_of(DType dtype) {
  const int value_bits = 8 * size_bytes(dtype) - (info(dtype).is_signed ? 1 : 0);
  const int64_t high = (int64_t{1} << value_bits) - 1;
  return {info(dtype).is_signed ? -high - 1 : 0, high};
}

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const auto dtype = context.node.attr<DType>("dtype");
  context.require(x.dtype != DType::boolean, "is not defined for bool");
  check_quantization(context, dtype);
  return {{dtype, x.shape}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const auto dtype = node.attr<DType>("dtype");
  const DType wide = quotient_dtype(context.operand_type(0).dtype, context.operand_type(1).dtype);
  const Expr x = converted(context.operand(0, index), wide);
  const Expr quotient = unary(Fn::round, div(x, converted(parameter(context, 1, index), wide)));
  // The sum with the zero point must not overflow before it saturates: 64 bits hold any of 32 bits;
  // for fewer, the quotient is first limited to what the zero point leaves.
  const bool is_wide = size_bytes(dtype) == 4;
  const DType integer = is_wide ? DType::i64 : DType::i32;
  const auto whole = [&](int64_t value) { return constant_int(integer, value); };
  Expr zero_point = whole(0);
  if (node.inputs[2]) zero_point = cast(parameter(context, 2, index), integer);
  const Range range = range_of(dtype);
  if (is_wide) {
    const Expr limit = whole(int64_t{1} << 40);
    const Expr number = minimum(maximum(cast(quotient, integer), unary(Fn::neg, limit)), limit);
    const Expr sum = add(number, zero_point);
    return cast(minimum(maximum(sum, whole(range.low)), whole(range.high)), dtype);
  }
  const Expr low = cast(sub(whole(range.low), zero_point), wide);
  const Expr high = cast(sub(whole(range.high), zero_point), wide);
  const Expr number = cast(minimum(maximum(quotient, low), high), integer);  // of NaN: 0
  return cast(add(number, zero_point), dtype);
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[0], &scale = *context.inputs[1];
  RefTensor& out = context.outputs[0];
  const DType wide = quotient_dtype(x.dtype, scale.dtype);
  const Range range = range_of(out.dtype);
  for_each_index(x.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const double divisor = scale.f[static_cast<size_t>(parameter_offset(context, 1, index))];
    // The dtype that a quotient is rounded to decides its ties.
    const double quotient = std::nearbyint(round_to(wide, float_at(x, offset) / divisor));
    int64_t zero_point = 0;
    if (context.inputs[2])
      zero_point = context.inputs[2]->i[static_cast<size_t>(parameter_offset(context, 2, index))];
    const double whole = std::isnan(quotient) ? 0 : std::clamp(quotient, -0x1p40, 0x1p40);
    out.i[static_cast<size_t>(offset)] =
        std::clamp(static_cast<int64_t>(whole) + zero_point, range.low, range.high);
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "quantize";
  op.operands = {"x", "scale", "zero_point?"};
  op.attrs = quantization_attrs();
  op.attrs.push_back({"dtype", AttrType::dtype, DType::u8});
  op.doc =
      "round(x / scale) + zero_point as integers of `dtype`, halves to even, saturated, NaN as 0; "
      "scale and zero_point have one element, or one per index of `dim`, or, with block_size, one "
      "per that many neighbours along it; torch.quantize_per_tensor, torch.quantize_per_channel";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.tie_sensitive = true;
  using enum DType;
  op.samples = {
      {.inputs = {{f32, {5, 33}}, {f32, {}}, {u8, {}}}, .lo = 0.01, .int_hi = 256},
      {.inputs = {{f32, {5, 33}}, {f32, {1}}}, .attrs = {{"dtype", i8}}, .lo = -2, .hi = -0.01},
      {.inputs = {{f32, {3, 4, 7}}, {f32, {4}}, {i8, {4}}},
       .attrs = {{"dtype", i8}},
       .lo = 0.005,
       .int_lo = -128,
       .int_hi = 128},
      {.inputs = {{f16, {6, 10}}, {f16, {6}}, {u16, {6}}},
       .attrs = {{"dtype", u16}, {"dim", 0}},
       .lo = 0.01,
       .int_hi = 65536},
      {.inputs = {{f32, {3, 10}}, {f32, {3, 3}}, {i16, {3, 3}}},
       .attrs = {{"dtype", i16}, {"dim", -1}, {"block_size", 4}},
       .lo = 0.01,
       .int_lo = -32768,
       .int_hi = 32768},
      {.inputs = {{f32, {40}}, {f32, {}}, {i32, {}}},
       .attrs = {{"dtype", i32}},
       .lo = 1e-9,
       .hi = 1},
      {.inputs = {{i32, {12}}, {f32, {}}, {u8, {}}}, .lo = 0.5, .int_hi = 256},
      {.inputs = {{f64, {2, 3}}, {f64, {}}, {u8, {}}}, .lo = 0.01},
      {.inputs = {{f32, {0, 3}}, {f32, {3}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_quantize
