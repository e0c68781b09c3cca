#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_stack {

OpDef make() {
  OpDef op;
  op.name = "stack";
  op.kind = OpKind::composite;
  op.operands = {"xs..."};
  op.attrs = {{"dim", AttrType::integer, int64_t{0}}};
  op.doc = "Tensors of one shape along a new dim; torch.stack";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    Type out = *context.inputs[0];
    for (const Type* x : context.inputs) {
      out.dtype = promote(out.dtype, x->dtype);
      context.require(
          may_be_equal(x->shape, out.shape),
          str("shapes ", shape_text(out.shape), " and ", shape_text(x->shape), " differ"));
    }
    const int dim = dim_attr(context, "dim", static_cast<int>(out.shape.size()) + 1);
    out.shape.insert(out.shape.begin() + dim, static_cast<int64_t>(context.inputs.size()));
    checked_shape(context, out.shape);
    return {out};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    const int64_t dim = dim_attr(node, "dim", node.outputs[0]->rank());
    std::vector<Value*> rows;
    for (Value* x : node.inputs) rows.push_back(b.unsqueeze(x, dim));
    return {b.op("cat", rows, {{"dim", dim}})};
  };
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{f32, {2, 3}}, {f32, {2, 3}}}},
                {.inputs = {{f32, {2, 3}}, {f32, {2, 3}}, {f32, {2, 3}}}, .attrs = {{"dim", -1}}},
                {.inputs = {{f32, Shape{}}, {f16, Shape{}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_stack
