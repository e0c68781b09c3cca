#include <cmath>

#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_rms_norm {
namespace {

std::vector<Type> infer_rms_norm(const InferContext& context) {
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
  return {x};
}

std::vector<Value*> compose_rms_norm(Builder& b, const Node& node) {
  Value* x = b.compute(node.inputs[0]);
  const auto normalized =
      static_cast<int>(node.attr<std::vector<SymInt>>("normalized_shape").size());
  const auto dims = dims_from(x->rank() - normalized, x->rank());
  double eps = number_attr(node, "eps");
  if (eps < 0) eps = std::ldexp(1.0, -info(node.inputs[0]->dtype()).mantissa_bits);
  Value* mean_square = b.reduce("mean", b.mul(x, x), dims, true);
  Value* y = scale_to_unit_variance(b, x, mean_square, eps);
  return {b.cast(affine(b, y, node.inputs[1], nullptr), node.inputs[0]->dtype())};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "rms_norm";
  op.kind = OpKind::composite;
  op.operands = {"x", "weight?"};
  // A negative eps stands for PyTorch's default, the machine epsilon of the dtype of x.
  op.attrs = {{"normalized_shape", AttrType::ints, std::nullopt, {}, true},
              {"eps", AttrType::number, -1.0}};
  op.doc =
      "x over the root of its mean square over its trailing dims, times weight; "
      "torch.nn.functional.rms_norm";
  op.infer = infer_rms_norm;
  op.compose = compose_rms_norm;
  op.samples = {
      {{{DType::f32, {5, 7}}, {DType::f32, {7}}}, {{"normalized_shape", ints({7})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"normalized_shape", ints({4, 33})}, {"eps", 1e-3}}},
      {{{DType::f32, {1, 768}}, {DType::f32, {768}}},
       {{"normalized_shape", ints({768})}},
       100,
       102},
      {{{DType::f32, {6, 1}}, {DType::f32, {1}}}, {{"normalized_shape", ints({1})}}},
      {{{DType::f16, {9, 130}}, {DType::f16, {130}}}, {{"normalized_shape", ints({130})}}},
      {{{DType::bf16, {2, 3, 40}}, {DType::f32, {40}}}, {{"normalized_shape", ints({40})}}},
      {{{DType::f64, {4, 15}}}, {{"normalized_shape", ints({15})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_rms_norm
