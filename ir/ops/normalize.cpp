#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"

namespace tcc::ir::ops::op_normalize {

OpDef make() {
  OpDef op;
  op.name = "normalize";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"p", AttrType::number, 2.0},
              {"dim", AttrType::integer, int64_t{1}},
              {"eps", AttrType::number, 1e-12}};
  op.doc = "x over the larger of its p-norm along dim and eps; torch.nn.functional.normalize";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context);
    const Type& x = *context.inputs[0];
    dim_attr(context, "dim", std::max<int>(1, x.shape.size()));
    return {x};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = b.compute(node.inputs[0]);
    Value* norm = b.op("norm", {x},
                       {{"p", number_attr(node, "p")},
                        {"dim", ints({node.attr<int64_t>("dim")})},
                        {"keepdim", true}});
    Value* divisor = b.op("maximum", {norm, b.scalar(x->dtype(), number_attr(node, "eps"))});
    return {b.cast(b.div(x, divisor), node.inputs[0]->dtype())};
  };
  op.samples = {
      {{{DType::f32, {5, 7}}}},
      {{{DType::f32, {3, 4, 9}}}, {{"dim", -1}, {"p", 1.0}}},
      {{{DType::f16, {6, 64}}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_normalize
