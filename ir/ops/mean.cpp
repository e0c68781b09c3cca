#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_mean {

OpDef make() {
  OpDef op = reduction_composite(
      "mean", "Mean over dim, all dims by default; NaN over no elements; torch.mean",
      [](Builder& b, const Node& node, const std::vector<int64_t>& dims) {
        Value* x = b.compute(node.inputs[0]);
        if (dims.empty()) return x;  // a scalar
        const std::vector<int> reduced(dims.begin(), dims.end());
        Value* sum = b.reduce("sum", x, dims, node.attr<bool>("keepdim"));
        return b.div(sum, reduced_count(b, x->shape(), reduced, x->dtype()));
      });
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0, -1})}, {"keepdim", true}}},
      {{{DType::f32, {1, 257}}}, {}},
      {{{DType::f32, {}}}, {}},
      {{{DType::f32, {0, 4}}}, {{"dim", ints({1})}}},
      {{{DType::f16, {17, 130}}}, {{"dim", ints({1})}}},
      {{{DType::bf16, {9, 40}}}, {{"dim", ints({0})}}},
      {{{DType::f64, {6, 31}}}, {{"dim", ints({1})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_mean
