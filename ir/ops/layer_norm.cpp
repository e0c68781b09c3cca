#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_layer_norm {
namespace {

bool returns_statistics(const Node& node) { return node.attr<bool>("return_statistics"); }

std::vector<Type> infer_layer_norm(const InferContext& context) {
  require_float(context);
  const Type& x = *context.inputs[0];
  const auto& normalized = context.node.attr<std::vector<SymInt>>("normalized_shape");
  const size_t rank = x.shape.size();
  context.require(!normalized.empty() && normalized.size() <= rank,
                  "normalized_shape must name trailing dims of x");
  const Shape trailing(x.shape.end() - static_cast<std::ptrdiff_t>(normalized.size()),
                       x.shape.end());
  context.require(may_be_equal(trailing, normalized),
                  str("normalized_shape ", shape_text(normalized),
                      " differs from the trailing dims of x, ", shape_text(trailing)));
  require_shape(context, 1, normalized, "normalized_shape");
  require_shape(context, 2, normalized, "normalized_shape");
  if (!returns_statistics(context.node)) return {x};
  Shape rows(x.shape.begin(), x.shape.end() - static_cast<std::ptrdiff_t>(normalized.size()));
  rows.resize(rank, SymInt(1));
  return {x, {compute_dtype(x.dtype), rows}, {compute_dtype(x.dtype), rows}};
}

std::vector<Value*> compose_layer_norm(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const auto normalized =
      static_cast<int>(node.attr<std::vector<SymInt>>("normalized_shape").size());
  const auto dims = dims_from(x->rank() - normalized, x->rank());
  const Moments m = moments(b, x, dims);
  const double eps = number_attr(node, "eps");
  Value* rstd = b.unary("rsqrt", b.add(m.variance, b.scalar(m.variance->dtype(), eps)));
  Value* y = b.mul(m.centered, rstd);
  y = b.cast(affine(b, y, node.inputs[1], node.inputs[2]), node.inputs[0]->dtype());
  if (!returns_statistics(node)) return {y};
  return {y, m.mean, rstd};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "layer_norm";
  op.kind = OpKind::composite;
  op.operands = {"x", "weight?", "bias?"};
  op.attrs = {{"normalized_shape", AttrType::ints, std::nullopt, {}, true},
              {"eps", AttrType::number, 1e-5},
              {"return_statistics", AttrType::boolean, false}};
  op.results = {"out", "mean", "rstd"};
  op.num_results = [](const Node& node) { return returns_statistics(node) ? 3 : 1; };
  op.doc =
      "x to mean 0 and variance 1 over its trailing dims, times weight plus bias; "
      "torch.nn.functional.layer_norm; with return_statistics also the mean and 1 / sqrt(variance "
      "+ "
      "eps), as torch.native_layer_norm";
  op.infer = infer_layer_norm;
  op.compose = compose_layer_norm;
  op.samples = {
      {{{DType::f32, {5, 7}}, {DType::f32, {7}}, {DType::f32, {7}}},
       {{"normalized_shape", ints({7})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"normalized_shape", ints({4, 33})}, {"eps", 1e-3}}},
      {{{DType::f32, {1, 768}}, {DType::f32, {768}}, {DType::f32, {768}}},
       {{"normalized_shape", ints({768})}},
       4,  // the mean's own rounding is below the rule's limit, E[x^2] - E[x]^2 is not
       6},
      {{{DType::f32, {6, 1}}, {DType::f32, {1}}, {DType::f32, {1}}},
       {{"normalized_shape", ints({1})}}},
      {{{DType::f16, {2, 3, 40}}, {DType::f16, {3, 40}}},
       {{"normalized_shape", ints({3, 40})}, {"return_statistics", true}}},
      {{{DType::f16, {9, 130}}, {DType::f16, {130}}, {DType::f16, {130}}},
       {{"normalized_shape", ints({130})}}},
      {{{DType::bf16, {2, 3, 40}}, {DType::f32, {40}}, {DType::f32, {40}}},
       {{"normalized_shape", ints({40})}}},
      {{{DType::f64, {4, 15}}}, {{"normalized_shape", ints({15})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_layer_norm
