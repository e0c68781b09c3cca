#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_contraction.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_linear {
namespace {

std::vector<Type> infer_linear(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const Type& weight = *context.inputs[1];
  const auto shapes = [&] { return shape_text(x.shape) + " and " + shape_text(weight.shape); };
  context.require(!x.shape.empty() && weight.shape.size() == 2,
                  "x must be [..., in] and weight [out, in], not " + shapes());
  context.require(may_be_equal(x.shape.back(), weight.shape[1]),
                  str("the inner dims of x and weight, ", shapes(), ", differ: ", x.shape.back(),
                      " and ", weight.shape[1]));
  const DType dtype = contracted_dtype(context);
  const Type* bias = context.inputs[2];
  context.require(!bias || bias->dtype == dtype,
                  str("bias is ", bias ? name(bias->dtype) : "", ", the product is ", name(dtype)));
  require_shape(context, 2, {weight.shape[0]}, "[out]");
  Shape out = x.shape;
  out.back() = weight.shape[0];
  return {{dtype, checked_shape(context, std::move(out))}};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "linear";
  op.kind = OpKind::composite;
  op.operands = {"x", "weight", "bias?"};
  op.attrs = {out_dtype_attr()};
  op.doc =
      "x [..., in] times the transpose of weight [out, in], plus bias [out]; "
      "torch.nn.functional.linear";
  op.infer = infer_linear;
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* weight = b.transpose(node.inputs[1], 0, 1);
    Value* product = b.op("matmul", {node.inputs[0], weight}, node.attrs);
    return {node.inputs[2] ? b.add(product, node.inputs[2]) : product};
  };
  op.takes_f8 = true;
  op.samples = {
      {{{DType::f32, {5, 7}}, {DType::f32, {3, 7}}, {DType::f32, {3}}}},
      {{{DType::f32, {7}}, {DType::f32, {3, 7}}}},
      {{{DType::f32, {2, 9, 33}}, {DType::f32, {17, 33}}, {DType::f32, {17}}}},
      {{{DType::f32, {1, 1}}, {DType::f32, {1, 1}}, {DType::f32, {1}}}},
      {{{DType::f32, {0, 7}}, {DType::f32, {3, 7}}, {DType::f32, {3}}}},
      {{{DType::f16, {32, 64}}, {DType::f16, {48, 64}}, {DType::f16, {48}}}},
      {{{DType::bf16, {4, 130}}, {DType::bf16, {65, 130}}}},
      {{{DType::f64, {3, 5}}, {DType::f64, {2, 5}}, {DType::f64, {2}}}},
      {{{DType::u8, {20, 48}}, {DType::i8, {33, 48}}, {DType::i32, {33}}},
       {{"out_dtype", "i32"}},
       -2,
       2,
       -128,
       256},
      {{{DType::i32, {3, 5}}, {DType::i32, {2, 5}}, {DType::i32, {2}}}, {}, -2, 2, -9, 9},
      {{{DType::f8e4m3, {130, 192}}, {DType::f8e4m3, {72, 192}}, {DType::bf16, {72}}},
       {{"out_dtype", "bf16"}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_linear
