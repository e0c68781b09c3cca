#include <cmath>

#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_norm {
namespace {

Value* compose_norm(Builder& b, const Node& node, const std::vector<int64_t>& dims) {
  const double p = number_attr(node, "p");
  Value* x = b.compute(node.inputs[0]);
  Value* magnitude = b.unary("abs", x);
  if (dims.empty() && p != 0) return magnitude;  // a scalar: |x| for every p
  const auto reduce = [&](std::string_view name, Value* value) {
    return dims.empty() ? value : b.reduce(name, value, dims, node.attr<bool>("keepdim"));
  };
  const auto scalar = [&](double value) { return b.scalar(x->dtype(), value); };
  if (std::isinf(p)) return reduce(p > 0 ? "amax" : "amin", magnitude);
  if (p == 0) return reduce("sum", b.cast(b.op("ne", {x, scalar(0)}), x->dtype()));
  if (p == 1) return reduce("sum", magnitude);
  if (p == 2) return b.unary("sqrt", reduce("sum", b.mul(x, x)));
  return b.op("pow", {reduce("sum", b.op("pow", {magnitude, scalar(p)})), scalar(1 / p)});
}

}  // namespace

OpDef make() {
  OpDef op = reduction_composite(
      "norm", "The vector p-norm over dim, all dims by default; torch.linalg.vector_norm",
      compose_norm);
  op.attrs.push_back({"p", AttrType::number, 2.0});
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0, -1})}, {"keepdim", true}, {"p", 1.0}}},
      {{{DType::f32, {1, 257}}}, {{"p", HUGE_VAL}}},
      {{{DType::f32, {6, 9}}}, {{"dim", ints({1})}, {"p", 3.0}}},
      {{{DType::f32, {6, 9}}}, {{"dim", ints({1})}, {"p", 0.0}}},
      {{{DType::f16, {17, 30}}}, {{"dim", ints({0})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_norm
