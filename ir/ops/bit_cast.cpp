#include "ir/bit_cast.h"

#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "support/error.h"

namespace tcc::ir::ops::op_bit_cast {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const DType from = context.inputs[0]->dtype, to = context.node.attr<DType>("dtype");
  context.require(from != DType::boolean && to != DType::boolean, "is not defined for bool");
  context.require(
      size_bytes(from) == size_bytes(to),
      str(name(from), " has ", 8 * size_bytes(from), " bits, ", name(to), " ", 8 * size_bytes(to)));
  return {{to, context.inputs[0]->shape}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const auto to = context.node().attr<DType>("dtype");
  return converted(bit_cast(context.operand(0, index), context.operand_type(0).dtype, to), to);
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  for_each_index(x.shape, [&](std::span<const int64_t>, int64_t offset) {
    const auto at = static_cast<size_t>(offset);
    const Number value{x.is_float() ? x.f[at] : 0, x.is_float() ? 0 : x.i[at]};
    const Number result = bit_cast(value, x.dtype, out.dtype);
    if (out.is_float())
      out.f[at] = result.number;
    else
      out.i[at] = result.integer;
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "bit_cast";
  op.operands = {"x"};
  op.attrs = {{"dtype", AttrType::dtype, std::nullopt}};
  op.doc = "The bits of x as another dtype of the same width; torch.Tensor.view, ONNX's BitCast";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  // Makes samples from integers: the bits of numbers from 1 on, and of their negatives.
  const auto from = [](DType integer, int64_t first, int64_t count, DType to) {
    return OpSample{.inputs = {{integer, {3, 33}}},
                    .attrs = {{"dtype", to}},
                    .int_lo = first,
                    .int_hi = first + count};
  };
  op.samples = {{.inputs = {{f32, {3, 33}}}, .attrs = {{"dtype", i32}}},
                {.inputs = {{f32, {65}}}, .attrs = {{"dtype", u32}}, .lo = -1e30, .hi = 1e30},
                {.inputs = {{f64, {17}}}, .attrs = {{"dtype", i64}}},
                {.inputs = {{f16, {3, 33}}}, .attrs = {{"dtype", u16}}},
                {.inputs = {{bf16, {3, 33}}}, .attrs = {{"dtype", i16}}},
                {.inputs = {{f8e4m3, {70}}}, .attrs = {{"dtype", u8}}},
                {.inputs = {{f8e5m2, {70}}}, .attrs = {{"dtype", i8}}},
                {.inputs = {{f16, {40}}}, .attrs = {{"dtype", bf16}}, .lo = 1, .hi = 2},
                {.inputs = {{i8, {40}}}, .attrs = {{"dtype", u8}}, .int_lo = -128, .int_hi = 128},
                {.inputs = {{f32, {0, 3}}}, .attrs = {{"dtype", i32}}},
                from(i32, 0x3f800000, 1 << 24, f32),
                from(i32, -0x40800000, 1 << 20, f32),
                from(u16, 0x3c00, 1000, f16),
                from(i16, 0x3f80, 100, bf16),
                from(u8, 0x38, 40, f8e4m3),
                from(i64, 0x3ff0000000000000, int64_t{1} << 40, f64)};
  return op;
}

}  // namespace tcc::ir::ops::op_bit_cast
