#include <algorithm>
#include <cmath>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_range_quantization.h"
#include "support/error.h"

namespace tcc::ir::ops::op_dynamic_quantize {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const auto dtype = context.node.attr<DType>("dtype");
  context.require(is_float(x.dtype), str("x must be a float tensor, not ", to_string(x)));
  context.require(dtype == DType::u8 || dtype == DType::i8,
                  str("dtype must be u8 or i8, not ", name(dtype)));
  for (const SymInt& extent : x.shape) context.require(!extent.is(0), "x must not be empty");
  return {{dtype, x.shape}, {compute_dtype(x.dtype), {}}, {dtype, {}}};
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  const auto dtype = node.attr<DType>("dtype");
  Value* x = b.compute(node.inputs[0]);
  const auto number = [&](double value) { return b.scalar(x->dtype(), value); };
  Value* low = b.op("minimum", {b.reduce("amin", x, {}), number(0)});
  Value* high = b.op("maximum", {b.reduce("amax", x, {}), number(0)});
  const auto [scale, zero_point] = quantization_of_range(b, low, high, dtype);
  return {b.op("quantize", {x, scale, zero_point}, {{"dtype", dtype}}), scale, zero_point};
}

// Each step is rounded as the composition's kernels round it: the zero point of a symmetric range
// lies next to a tie that the rounding of the scale decides.
void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  RefTensor &out = context.outputs[0], &scale = context.outputs[1];
  const DType wide = scale.dtype;
  const auto rounded = [&](double value) { return round_to(wide, value); };
  double low = 0, high = 0;
  bool is_nan = false;
  for (const double value : x.f) {
    low = std::min(low, value);
    high = std::max(high, value);
    is_nan |= std::isnan(value);
  }
  if (is_nan) low = high = std::nan("");
  const double range = rounded(high - low);
  scale.f[0] = rounded((range == 0 ? 1 : range) / 255);
  const double lowest = out.dtype == DType::u8 ? 0 : -128;
  const double place = rounded(lowest - rounded(low / scale.f[0]));
  const auto whole = [&](double value) {  // of NaN: 0
    return std::isnan(value) ? int64_t{0} : static_cast<int64_t>(std::nearbyint(value));
  };
  const int64_t zero_point = whole(std::clamp(place, lowest, lowest + 255));
  context.outputs[2].i[0] = zero_point;
  const auto least = static_cast<double>(static_cast<int64_t>(lowest) - zero_point);
  for (size_t k = 0; k < x.f.size(); ++k) {
    const double quotient = std::nearbyint(rounded(x.f[k] / scale.f[0]));
    out.i[k] = whole(std::clamp(quotient, least, least + 255)) + zero_point;
  }
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "dynamic_quantize";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dtype", AttrType::dtype, DType::u8}};
  op.results = {"out", "scale", "zero_point"};
  op.doc =
      "x quantized to 8 bits with the scale and zero point that its own range, widened to hold 0, "
      "asks for; torch.quantize_per_tensor_dynamic";
  op.infer = infer;
  op.compose = compose;
  op.reference = reference;
  op.tie_sensitive = true;
  op.samples = {{{{DType::f32, {5, 33}}}},
                {{{DType::f32, {3, 1}}}, {{"dtype", DType::i8}}, 1, 9},
                {{{DType::f16, {40}}}, {}, -9, -1}};
  return op;
}

}  // namespace tcc::ir::ops::op_dynamic_quantize
