#include <optional>
#include <utility>

#include "ir/builder.h"
#include "ir/ops/_indexing.h"

namespace tcc::ir::ops::op_take_along_dim {
namespace {

// The shapes that x and indices are expanded to: their common one, but each with its own `dim`.
std::pair<Shape, Shape> expanded(const InferContext& context, int dim) {
  Shape x = context.inputs[0]->shape, indices = context.inputs[1]->shape;
  const auto at = static_cast<size_t>(dim);
  const SymInt x_extent = x[at], index_extent = indices[at];
  x[at] = indices[at] = 1;
  Shape common = context.broadcast(x, indices);
  common[at] = x_extent;
  x = common;
  common[at] = index_extent;
  return {x, common};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "take_along_dim";
  op.kind = OpKind::composite;
  op.operands = {"x", "indices"};
  op.attrs = {{"dim", AttrType::integer, std::nullopt}};
  op.doc = "`gather` with x and indices broadcast beyond `dim`; torch.take_along_dim";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type &x = *context.inputs[0], &indices = *context.inputs[1];
    require_index(context, "indices", indices.dtype);
    context.require(x.shape.size() == indices.shape.size(), "x and indices must have one rank");
    const int dim = dim_attr(context, "dim", static_cast<int>(x.shape.size()));
    require_not_empty(context, x.shape, dim, indices.shape);
    return {{x.dtype, expanded(context, dim).second}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    const Shape& out = node.outputs[0]->shape();
    const auto dim = static_cast<size_t>(dim_attr(node, "dim", static_cast<int>(out.size())));
    Shape x = out;
    x[dim] = node.inputs[0]->shape()[dim];
    return {b.op("gather", {b.expand(node.inputs[0], x), b.expand(node.inputs[1], out)},
                 {{"dim", static_cast<int64_t>(dim)}})};
  };
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{f32, {4, 8}}, {i64, {4, 3}}}, .attrs = {{"dim", 1}}},
                {.inputs = {{f32, {8, 5}}, {i64, {2, 1}}}, .attrs = {{"dim", 0}}},
                {.inputs = {{f32, {1, 8}}, {i32, {3, 2}}}, .attrs = {{"dim", -1}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_take_along_dim
