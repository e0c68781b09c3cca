#include "ir/counted_dims.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_counted.h"
#include "support/error.h"

namespace tcc::ir::ops::op_compress {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type &x = *context.inputs[0], &condition = *context.inputs[1];
  context.require(condition.dtype == DType::boolean && condition.shape.size() == 1,
                  str("condition is ", to_string(condition), ", not bool with one dim"));
  const std::optional<int> dim = optional_dim(context, static_cast<int>(x.shape.size()));
  const SymInt extent = dim ? x.shape[static_cast<size_t>(*dim)] : product(x.shape);
  context.require((extent - condition.shape[0]).range().hi >= 0,
                  str("condition has ", condition.shape[0], " elements for ", extent));
  Type out = x;
  if (!dim) out.shape = {0};
  out.shape[static_cast<size_t>(dim.value_or(0))] = counted_size(context);
  return {out};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "compress";
  op.kind = OpKind::composite;
  op.operands = {"x", "condition"};
  op.attrs = {counted_size_attr(), optional_dim_attr()};
  op.doc =
      "The slices of x along dim, or without dim the elements of the flattened x, at which "
      "condition (bool [n], which may be shorter) is true; each run counts them and gives the dim "
      "`size` their number; ONNX Compress";
  op.infer = infer;
  op.most_counted = [](const Node& node) { return node.inputs[1]->shape()[0]; };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const std::optional<int> dim = optional_dim(node, x->rank());
    Value* places = places_of(b, node.inputs[1], size_of(node));
    if (!dim) x = b.reshape(x, {product(x->shape())});
    return {select_places(b, x, dim.value_or(0), places)};
  };
  using enum DType;
  const Attr size = shape_attr({SymInt::symbol("N")});
  op.samples = {
      {.inputs = {{f32, {5, 7}}, {boolean, {5}}}, .attrs = {{"size", size}, {"dim", ints({0})}}},
      {.inputs = {{i64, {2, 3, 40}}, {boolean, {33}}},
       .attrs = {{"size", size}, {"dim", ints({-1})}}},
      {.inputs = {{f16, {3, 4}}, {boolean, {10}}}, .attrs = {{"size", size}}},
      {.inputs = {{boolean, {0, 3}}, {boolean, {0}}},
       .attrs = {{"size", size}, {"dim", ints({0})}}},
      {.inputs = {{u8, Shape{}}, {boolean, {1}}}, .attrs = {{"size", size}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_compress
