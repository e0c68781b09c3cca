#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_std {

OpDef make() {
  OpDef op = reduction_composite(
      "std", "Standard deviation over dim, the square root of var; torch.std",
      [](Builder& b, const Node& node, const std::vector<int64_t>&) {
        return b.unary("sqrt", b.op("var", {b.compute(node.inputs[0])}, node.attrs));
      });
  op.attrs.push_back({"correction", AttrType::integer, int64_t{1}});
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0, -1})}, {"keepdim", true}, {"correction", 0}}},
      {{{DType::f32, {1, 257}}}, {}},
      {{{DType::bf16, {17, 30}}}, {{"dim", ints({0})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_std
