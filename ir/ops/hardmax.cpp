#include "ir/builder.h"
#include "ir/ops/_attributes.h"

namespace tcc::ir::ops::op_hardmax {

OpDef make() {
  OpDef op;
  op.name = "hardmax";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::integer, int64_t{-1}}};
  op.doc = "1 at the first of the largest elements along dim, 0 elsewhere; ONNX Hardmax";
  op.tie_sensitive = true;
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& x = *context.inputs[0];
    context.require(!x.shape.empty(), "x must have a dim");
    dim_attr(context, "dim", static_cast<int>(x.shape.size()));
    return {x};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const int64_t dim = dim_attr(node, "dim", x->rank());
    if (x->shape()[static_cast<size_t>(dim)].is(0)) return {x};
    Value* best = b.op("argmax", {x}, {{"dim", ints({dim})}, {"keepdim", true}});
    Value* at = b.op("iota", {}, {{"size", shape_attr(x->shape())}, {"dim", dim}});
    return {b.cast(b.op("eq", {at, best}), x->dtype())};
  };
  using enum DType;
  op.samples = {{.inputs = {{f32, {5, 33}}}},
                {.inputs = {{f16, {3, 40, 2}}}, .attrs = {{"dim", 1}}},
                {.inputs = {{i32, {8, 6}}}, .attrs = {{"dim", 0}}, .int_hi = 3},
                {.inputs = {{f32, {4, 1}}}},
                {.inputs = {{f32, {2, 0}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_hardmax
