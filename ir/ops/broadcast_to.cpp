#include <optional>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "support/error.h"

namespace tcc::ir::ops::op_broadcast_to {

OpDef make() {
  OpDef op;
  op.name = "broadcast_to";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"shape", AttrType::ints, std::nullopt, {}, true}};
  op.doc = "x broadcast to a shape, as `expand`; torch.broadcast_to";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Shape& x = context.inputs[0]->shape;
    Shape shape = symint_list(context.node, "shape");
    const size_t added = shape.size() >= x.size() ? shape.size() - x.size() : 0;
    for (size_t d = added; d < shape.size(); ++d)
      if (shape[d].is(-1)) shape[d] = x[d - added];
    shape = checked_shape(context, shape);
    context.require(context.broadcast(x, shape) == shape,
                    str(shape_text(x), " does not broadcast to ", shape_text(shape)));
    return {{context.inputs[0]->dtype, shape}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    return {b.op("expand", {node.inputs[0]}, {{"size", node.outputs[0]->shape()}})};
  };
  op.takes_f8 = true;
  op.samples = {{.inputs = {{DType::f32, {3, 1}}}, .attrs = {{"shape", ints({2, 3, 4})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_broadcast_to
