#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"

namespace tcc::ir::ops::op_mean_variance_norm {

OpDef make() {
  OpDef op;
  op.name = "mean_variance_norm";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"dim", AttrType::ints, ints({0, 2, 3})}, {"eps", AttrType::number, 1e-9}};
  op.doc =
      "(x - mean) / (sqrt(variance) + eps), both over the dims `dim`; ONNX's "
      "MeanVarianceNormalization";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    require_float(context);
    dim_list(context, "dim", static_cast<int>(context.inputs[0]->shape.size()));
    return {*context.inputs[0]};
  };
  op.compose = [](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = b.compute(node.inputs[0]);
    const auto named = dim_list(node, "dim", x->rank());
    // A reduction over no dim at all names every one, but here each element is a group of its own.
    if (named.empty()) return {b.splat(node.inputs[0]->dtype(), x->shape(), 0)};
    const Moments m = moments(b, x, {named.begin(), named.end()});
    Value* deviation = b.unary("sqrt", m.variance);
    deviation = b.add(deviation, b.scalar(x->dtype(), number_attr(node, "eps")));
    return {b.cast(b.div(m.centered, deviation), node.inputs[0]->dtype())};
  };
  op.samples = {
      {{{DType::f32, {2, 3, 5, 7}}}},
      {{{DType::f32, {6, 33}}}, {{"dim", ints({-1})}}},
      {{{DType::f16, {4, 3, 9}}}, {{"dim", ints({0, 2})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_mean_variance_norm
