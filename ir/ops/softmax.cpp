#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"

namespace tcc::ir::ops {

OpDef make_softmax() {
  OpDef op;
  op.name = "softmax";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, std::nullopt}};
  op.doc = "exp(x) over its sum along dim; torch.nn.functional.softmax";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context);
    const Type& x = *context.inputs[0];
    dim_attr(context, "dim", std::max<int>(1, x.shape.size()));
    return {x};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const int dim = softmax_dim(node);
    if (x->rank() > 0 && x->shape()[static_cast<size_t>(dim)].is(0)) return {x};
    const ShiftedExp e = shifted_exp(b, b.compute(x), dim);
    // One division per row, not per element.
    return {b.cast(b.mul(e.exp, b.unary("reciprocal", e.sum)), x->dtype())};
  };
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", 1}}},
      {{{DType::f32, {3, 1000}}}, {{"dim", -1}}, -30, 30},
      {{{DType::f32, {4, 9, 5}}}, {{"dim", 1}}},
      {{{DType::f32, {17, 1}}}, {{"dim", 1}}},
      {{{DType::f32, {3, 0}}}, {{"dim", 1}}},
      {{{DType::f32, {0, 3}}}, {{"dim", 1}}},
      {{{DType::f16, {6, 130}}}, {{"dim", 1}}},
      {{{DType::bf16, {2, 3, 33}}}, {{"dim", 2}}},
      {{{DType::f64, {6, 31}}}, {{"dim", 0}}},
  };
  return op;
}

}  // namespace tcc::ir::ops
