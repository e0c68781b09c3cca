#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_contraction.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_bmm {

OpDef make() {
  OpDef op;
  op.name = "bmm";
  op.kind = OpKind::composite;
  op.operands = {"a", "b"};
  op.attrs = {out_dtype_attr()};
  op.doc =
      "Products of the matrices of two batches [B, M, K] and [B, K, N], without broadcasting; "
      "torch.bmm";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& a = *context.inputs[0];
    const Type& b = *context.inputs[1];
    const bool fits = a.shape.size() == 3 && b.shape.size() == 3 &&
                      may_be_equal(a.shape[0], b.shape[0]) && may_be_equal(a.shape[2], b.shape[1]);
    context.require(fits, str("the operands must be [B, M, K] and [B, K, N], not ",
                              shape_text(a.shape), " and ", shape_text(b.shape)));
    return {
        {contracted_dtype(context), checked_shape(context, {a.shape[0], a.shape[1], b.shape[2]})}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    return {b.op("matmul", {node.inputs[0], node.inputs[1]}, node.attrs)};
  };
  op.takes_f8 = true;
  op.samples = {
      {{{DType::f32, {3, 5, 7}}, {DType::f32, {3, 7, 2}}}},
      {{{DType::f32, {1, 1, 33}}, {DType::f32, {1, 33, 17}}}},
      {{{DType::f16, {2, 16, 24}}, {DType::f16, {2, 24, 8}}}},
      {{{DType::i8, {2, 9, 24}}, {DType::i8, {2, 24, 8}}},
       {{"out_dtype", "i32"}},
       -2,
       2,
       -128,
       128},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_bmm
