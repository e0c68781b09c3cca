#include <algorithm>
#include <limits>

#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_logsumexp {
namespace {

Value* compose_logsumexp(Builder& b, const Node& node, const std::vector<int64_t>& dims) {
  Value* x = b.compute(node.inputs[0]);
  if (dims.empty()) return x;  // a scalar
  const auto is_empty = [&](int64_t dim) { return x->shape()[static_cast<size_t>(dim)].is(0); };
  if (std::ranges::any_of(dims, is_empty))
    return b.splat(x->dtype(), node.outputs[0]->shape(), -std::numeric_limits<double>::infinity());
  Value* max = b.reduce("amax", x, dims, true);
  // An infinite maximum is not subtracted: inf - inf would turn a row of -inf (or with +inf in it)
  // into NaN.
  Value* shift = b.op("where", {b.unary("isinf", max), b.scalar(x->dtype(), 0), max});
  Value* sum = b.reduce("sum", b.unary("exp", b.sub(x, shift)), dims, true);
  Value* result = b.add(b.unary("log", sum), shift);
  return node.attr<bool>("keepdim") ? result : b.reshape(result, node.outputs[0]->shape());
}

}  // namespace

OpDef make() {
  OpDef op = reduction_composite(
      "logsumexp",
      "log(sum(exp(x))) over dim, stable; -inf for a row of -inf or of nothing; torch.logsumexp",
      compose_logsumexp);
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0, -1})}, {"keepdim", true}}, -50, 50},
      {{{DType::f32, {1, 257}}}, {{"dim", ints({1})}}, 100, 200},
      {{{DType::f32, {2, 0}}}, {{"dim", ints({1})}}},
      {{{DType::f16, {17, 30}}}, {{"dim", ints({0})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_logsumexp
