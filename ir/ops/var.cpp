#include "ir/ops/_norm.h"
#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_var {
namespace {

Value* compose_var(Builder& b, const Node& node, const std::vector<int64_t>& dims) {
  Value* x = b.compute(node.inputs[0]);
  // A scalar has no dims to reduce: its only element is its own mean.
  Value* centered = dims.empty() ? b.sub(x, x) : moments(b, x, dims).centered;
  Value* square = b.mul(centered, centered);
  if (!dims.empty()) square = b.reduce("sum", square, dims, node.attr<bool>("keepdim"));
  SymInt count = 1;
  for (int64_t dim : dims) count = count * x->shape()[static_cast<size_t>(dim)];
  const SymInt degrees_of_freedom = max(count - node.attr<int64_t>("correction"), SymInt(0));
  return b.div(square, size_scalar(b, degrees_of_freedom, x->dtype()));
}

}  // namespace

OpDef make() {
  OpDef op = reduction_composite(
      "var", "Variance over dim with `correction` degrees of freedom taken off; torch.var",
      compose_var);
  op.attrs.push_back({"correction", AttrType::integer, int64_t{1}});
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0, -1})}, {"keepdim", true}, {"correction", 0}}},
      {{{DType::f32, {1, 257}}}, {}},
      {{{DType::f32, {4, 1}}}, {{"dim", ints({1})}}},
      {{{DType::f16, {17, 130}}}, {{"dim", ints({1})}}},
      {{{DType::f64, {6, 31}}}, {{"dim", ints({0})}}, 100, 101},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_var
