#include "ir/counted_dims.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_counted.h"
#include "ir/ops/_sort.h"
#include "support/error.h"

namespace tcc::ir::ops::op_topk_counted {
namespace {

SymInt extent_of(const Node& node) {
  const Value* x = node.inputs[0];
  return x->shape()[static_cast<size_t>(dim_attr(node, "dim", x->rank()))];
}

std::vector<Type> infer(const InferContext& context) {
  Type values = *context.inputs[0];
  const Type& k = *context.inputs[1];
  context.require(k.dtype == DType::i64 && product(k.shape).is(1),
                  str("k is ", to_string(k), ", not one i64"));
  const int dim = dim_attr(context, "dim", static_cast<int>(values.shape.size()));
  values.shape[static_cast<size_t>(dim)] = counted_size(context);
  return {values, {DType::i64, values.shape}};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "topk_counted";
  op.kind = OpKind::composite;
  op.operands = {"x", "k"};
  op.attrs = {counted_size_attr(),
              {"dim", AttrType::integer, int64_t{-1}},
              {"largest", AttrType::boolean, true},
              {"sorted", AttrType::boolean, true}};
  op.results = {"values", "indices"};
  op.doc =
      "`topk` with a k (one i64) that each run computes, which is the size of the dim `size`; a k "
      "that is negative or more than x's extent along dim is an error of the run; ONNX TopK";
  op.tie_sensitive = true;
  op.infer = infer;
  op.most_counted = extent_of;
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const int dim = dim_attr(node, "dim", x->rank());
    const SymInt size = size_of(node);
    b.op("read_size", {b.reshape(node.inputs[1], {})},
         {{"size", shape_attr({size})}, {"most", shape_attr({extent_of(node)})}});
    Value* numbers = b.op("iota", {}, {{"size", shape_attr({size})}});
    std::vector<Value*> results;
    for (Value* sorted : sorted_along(b, x, dim, node.attr<bool>("largest"), 0))
      results.push_back(select_places(b, sorted, dim, numbers));
    return results;
  };
  using enum DType;
  const Attr size = shape_attr({SymInt::symbol("N")});
  op.samples = {
      {.inputs = {{f32, {3, 9}}, {i64, {1}}}, .attrs = {{"size", size}}},
      {.inputs = {{i32, {70, 2}}, {i64, Shape{}}},
       .attrs = {{"size", size}, {"dim", int64_t{0}}, {"largest", false}}},
      {.inputs = {{f16, {2, 8, 2}}, {i64, {1}}}, .attrs = {{"size", size}, {"dim", int64_t{1}}}},
      {.inputs = {{boolean, {8}}, {i64, {1}}}, .attrs = {{"size", size}}},
      {.inputs = {{f32, {0, 9}}, {i64, {1}}}, .attrs = {{"size", size}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_topk_counted
