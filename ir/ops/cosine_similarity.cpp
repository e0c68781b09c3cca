#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_cosine_similarity {
namespace {

std::vector<Type> infer_cosine_similarity(const InferContext& context) {
  require_float(context, 0);
  require_float(context, 1);
  const Type& x1 = *context.inputs[0];
  const Type& x2 = *context.inputs[1];
  Shape shape = context.broadcast(x1.shape, x2.shape);
  context.require(!shape.empty(), "the operands must have a dim");
  const int dim = dim_attr(context, "dim", static_cast<int>(shape.size()));
  shape.erase(shape.begin() + dim);
  return {{promote(x1.dtype, x2.dtype), shape}};
}

std::vector<Value*> compose_cosine_similarity(Builder& b, const Node& node) {
  const DType dtype = promote(node.inputs[0]->dtype(), node.inputs[1]->dtype());
  Shape shape = node.outputs[0]->shape();  // with the reduced dim put back: the common shape
  const int64_t dim = dim_attr(node, "dim", static_cast<int>(shape.size()) + 1);
  const auto extent_at = [&](const Value* x) {
    const int64_t at = dim - static_cast<int64_t>(shape.size()) - 1 + x->rank();
    return at < 0 ? SymInt(1) : x->shape()[static_cast<size_t>(at)];
  };
  const SymInt extent = extent_at(node.inputs[0]);
  const SymInt common = extent.is(1) ? extent_at(node.inputs[1]) : extent;
  shape.insert(shape.begin() + dim, common);
  const auto unit = [&](Value* x) {
    x = b.expand(b.cast(x, compute_dtype(dtype)), shape);
    Value* norm = b.op("norm", {x}, {{"dim", ints({dim})}, {"keepdim", true}});
    return b.div(x, b.op("maximum", {norm, b.scalar(x->dtype(), number_attr(node, "eps"))}));
  };
  Value* product = b.op("mul", {unit(node.inputs[0]), unit(node.inputs[1])});
  return {b.cast(b.reduce("sum", product, {dim}), dtype)};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "cosine_similarity";
  op.kind = OpKind::composite;
  op.operands = {"x1", "x2"};
  op.attrs = {{"dim", AttrType::integer, int64_t{1}}, {"eps", AttrType::number, 1e-8}};
  op.doc =
      "The inner product along dim of x1 and x2 scaled to unit length; "
      "torch.nn.functional.cosine_similarity";
  op.infer = infer_cosine_similarity;
  op.compose = compose_cosine_similarity;
  op.samples = {
      {{{DType::f32, {5, 7}}, {DType::f32, {5, 7}}}},
      {{{DType::f32, {3, 4, 9}}, {DType::f32, {4, 9}}}, {{"dim", -1}}},
      {{{DType::f16, {6, 64}}, {DType::f16, {1, 64}}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_cosine_similarity
