#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"

namespace tcc::ir::ops::op_softmin {

OpDef make() {
  OpDef op;
  op.name = "softmin";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, std::nullopt}};
  op.doc = "softmax of -x along dim; torch.nn.functional.softmin";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context);
    const Type& x = *context.inputs[0];
    dim_attr(context, "dim", std::max<int>(1, x.shape.size()));
    return {x};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    return {b.op("softmax", {b.unary("neg", x)}, node.attrs)};
  };
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", 1}}},
      {{{DType::f32, {3, 1000}}}, {{"dim", -1}}, -30, 30},
      {{{DType::f32, {4, 9, 5}}}, {{"dim", 1}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_softmin
