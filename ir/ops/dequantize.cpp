#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_quantization.h"

namespace tcc::ir::ops::op_dequantize {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  check_quantization(context, x.dtype);
  return {{context.inputs[1]->dtype, x.shape}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  // 32 bits hold the difference of narrower integers; that of wider ones wraps.
  const bool is_u32 = context.operand_type(0).dtype == DType::u32;
  const DType integer = is_u32 ? DType::u32 : DType::i32;
  Expr x = converted(context.operand(0, index), integer);
  if (context.node().inputs[2]) x = sub(x, converted(parameter(context, 2, index), integer));
  const Expr scale = parameter(context, 1, index);
  return mul(cast(x, scale->dtype), scale);
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[0], &scale = *context.inputs[1];
  const DType integer = x.dtype == DType::u32 ? DType::u32 : DType::i32;
  for_each_index(x.shape, [&](std::span<const int64_t> index, int64_t offset) {
    int64_t number = x.i[static_cast<size_t>(offset)];
    if (context.inputs[2])
      number -= context.inputs[2]->i[static_cast<size_t>(parameter_offset(context, 2, index))];
    context.outputs[0].f[static_cast<size_t>(offset)] =
        static_cast<double>(wrap_to(integer, number)) *
        scale.f[static_cast<size_t>(parameter_offset(context, 1, index))];
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "dequantize";
  op.operands = {"x", "scale", "zero_point?"};
  op.attrs = quantization_attrs();
  op.doc =
      "(x - zero_point) * scale, of scale's dtype; scale and zero_point lie along `dim` as those "
      "of `quantize` do; torch.dequantize";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  op.samples = {{.inputs = {{u8, {5, 33}}, {f32, {}}, {u8, {}}}, .int_hi = 256},
                {.inputs = {{i8, {3, 4, 7}}, {f32, {4}}}, .int_lo = -128, .int_hi = 128},
                {.inputs = {{i16, {6, 10}}, {f16, {6}}, {i16, {6}}},
                 .attrs = {{"dim", 0}},
                 .int_lo = -3000,
                 .int_hi = 3000},
                {.inputs = {{u16, {3, 10}}, {f32, {3, 3}}, {u16, {3, 3}}},
                 .attrs = {{"dim", -1}, {"block_size", 4}},
                 .int_hi = 65536},
                {.inputs = {{i32, {12}}, {f32, {1}}, {i32, {}}}, .int_lo = -99999, .int_hi = 99999},
                {.inputs = {{u8, {4, 8}}, {bf16, {8}}, {u8, {8}}}, .int_hi = 256},
                {.inputs = {{u8, {0, 3}}, {f32, {3}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_dequantize
