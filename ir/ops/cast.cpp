#include <cmath>
#include <optional>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_samples.h"

namespace tcc::ir::ops::op_cast {
namespace {

Expr lower(ElementContext& context, std::span<const SymInt> index) {
  const DType dtype = context.node().attr<DType>("dtype");
  const Expr x = context.operand(0, index);
  // Through the narrow type, so that a fused narrow float rounds as a stored one would.
  return converted(x->dtype == dtype ? x : cast(x, dtype), dtype);
}

// Towards zero into the range of `dtype`; NaN gives 0.
int64_t saturate(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  const int value_bits = 8 * size_bytes(dtype) - (info(dtype).is_signed ? 1 : 0);
  const double limit = std::ldexp(1, value_bits), whole = std::trunc(value);
  if (whole < 0 && !info(dtype).is_signed) return 0;
  if (whole >= limit)
    return static_cast<int64_t>(value_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << value_bits) - 1);
  if (whole < -limit) return -static_cast<int64_t>((uint64_t{1} << value_bits) - 1) - 1;
  return whole < 0x1p63 ? static_cast<int64_t>(whole)
                        : static_cast<int64_t>(static_cast<uint64_t>(whole));
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  for_each_index(x.shape, [&](std::span<const int64_t>, int64_t offset) {
    const auto at = static_cast<size_t>(offset);
    if (out.is_float())
      out.f[at] = float_at(x, offset);
    else if (out.dtype == DType::boolean)
      out.i[at] = x.is_float() ? x.f[at] != 0 : x.i[at] != 0;
    else
      out.i[at] = x.is_float() ? saturate(x.f[at], out.dtype) : wrap_to(out.dtype, x.i[at]);
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "cast";
  op.operands = {"x"};
  op.attrs = {{"dtype", AttrType::dtype, std::nullopt}};
  op.doc =
      "x as another dtype: floats round to nearest even; to integers, floats lose their "
      "fraction and saturate (NaN gives 0) and integers wrap; to bool, != 0; torch.Tensor.to";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {{context.node.attr<DType>("dtype"), context.inputs[0]->shape}};
  };
  op.element = lower;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = with_attrs(unary_samples(-9, 9), {{"dtype", f16}}) +
               with_attrs(unary_samples(-9, 9), {{"dtype", bf16}}) +
               with_attrs(unary_samples(-300, 300), {{"dtype", i32}}) +
               with_attrs(unary_samples(-1, 1), {{"dtype", boolean}}) +
               with_attrs(unary_int_samples(-8, 8), {{"dtype", f32}}) +
               with_attrs(unary_int_samples(0, 300), {{"dtype", u8}}) +
               with_attrs({unary_bool_sample()}, {{"dtype", f32}}) +
               with_attrs(unary_samples(-500, 500), {{"dtype", f8e4m3}}) +
               with_attrs(unary_int_samples(-8, 8), {{"dtype", f8e5m2}});
  op.samples.push_back({.inputs = {{f8e4m3, {3, 70}}}, .attrs = {{"dtype", f32}}});
  op.samples.push_back({.inputs = {{f8e5m2, {65}}}, .attrs = {{"dtype", f8e4m3}}});
  return op;
}

}  // namespace tcc::ir::ops::op_cast
