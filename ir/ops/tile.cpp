#include <optional>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"

namespace tcc::ir::ops::op_tile {
namespace {

// `dims` with ones in front, one entry per dim of x at least.
Shape repeats(const Node& node, size_t rank) {
  Shape result = symint_list(node, "dims");
  if (result.size() < rank) result.insert(result.begin(), rank - result.size(), 1);
  return result;
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "tile";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dims", AttrType::ints, std::nullopt, {}, true}};
  op.doc = "`repeat` with as many leading ones as it takes; torch.tile";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Shape& x = context.inputs[0]->shape;
    Shape shape = checked_shape(context, repeats(context.node, x.size()));
    const size_t added = shape.size() - x.size();
    for (size_t d = 0; d < x.size(); ++d)
      shape[added + d] = checked_size(context, shape[added + d], x[d]);
    return {{context.inputs[0]->dtype, checked_shape(context, shape)}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    return {b.op("repeat", {x}, {{"repeats", repeats(node, x->shape().size())}})};
  };
  op.takes_f8 = true;
  op.samples = {{.inputs = {{DType::f32, {3, 5}}}, .attrs = {{"dims", ints({2})}}},
                {.inputs = {{DType::f32, {4}}}, .attrs = {{"dims", ints({2, 3})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_tile
