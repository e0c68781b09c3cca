#include "ir/ops/_attributes.h"
#include "ir/ops/_reduction.h"

namespace tcc::ir::ops {

OpDef make_max() {
  OpDef op;
  op.name = "max";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = reduction_attrs();
  op.results = {"values", "indices"};
  op.num_results = [](const Node& node) { return node.ints("dim").empty() ? 1 : 2; };
  op.doc =
      "Largest elements along dim and their indices (of the first among equals); without dim, the "
      "one maximum; torch.max";
  op.tie_sensitive = true;
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& x = *context.inputs[0];
    const auto dims = reduced_dims(context, static_cast<int>(x.shape.size()));
    for (int dim : dims)
      context.require(!x.shape[static_cast<size_t>(dim)].is(0), "x must not be empty");
    const auto named = symint_list(context.node, "dim").size();
    context.require(named <= 1,
                    "dim must be one dim, or absent for all; amax and amin take several");
    const Shape shape = reduced_shape(x.shape, dims, context.node.attr<bool>("keepdim"));
    if (named == 0) return {{x.dtype, shape}};
    return {{x.dtype, shape}, {DType::i64, shape}};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    Value* values = b.op("amax", {x}, node.attrs);
    if (node.ints("dim").empty()) return {values};
    return {values, b.op("argmax", {x}, node.attrs)};
  };
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0})}, {"keepdim", true}}},
      {{{DType::f32, {6, 9}}}, {}},
      {{{DType::f16, {5, 40}}}, {{"dim", ints({-1})}}},
      {{{DType::i32, {8, 20}}}, {{"dim", ints({1})}}, -2, 2, 0, 5},
  };
  return op;
}

}  // namespace tcc::ir::ops
