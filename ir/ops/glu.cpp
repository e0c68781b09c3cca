#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"

namespace tcc::ir::ops::op_glu {

OpDef make() {
  OpDef op;
  op.name = "glu";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, int64_t{-1}}};
  op.doc = "The first half of x along dim times the sigmoid of the second; torch.nn.functional.glu";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context);
    Type out = *context.inputs[0];
    context.require(!out.shape.empty(), "x must have a dim to split");
    const int rank = static_cast<int>(out.shape.size());
    const int dim = dim_attr(context, "dim", rank);
    SymInt& extent = out.shape[static_cast<size_t>(dim)];
    context.require(extent.divisible_by(2),
                    "the dim to split must be even, not " + extent.to_string());
    extent = floordiv(extent, 2);
    return {out};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const int dim = dim_attr(node, "dim", x->rank());
    const SymInt extent = x->shape()[static_cast<size_t>(dim)], half = floordiv(extent, 2);
    Value* first = b.compute(b.slice(x, dim, 0, half));
    Value* second = b.compute(b.slice(x, dim, half, extent));
    return {b.cast(b.mul(first, b.unary("sigmoid", second)), x->dtype())};
  };
  op.samples = {
      {{{DType::f32, {5, 14}}}},
      {{{DType::f32, {3, 2, 9}}}, {{"dim", 1}}},
      {{{DType::bf16, {4, 64}}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_glu
