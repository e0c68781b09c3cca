#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_elementwise.h"
#include "support/error.h"

namespace tcc::ir::ops::op_eye {
namespace {

// `m` is -1 for as many columns as rows.
Shape shape(const InferContext& context) {
  const SymInt rows = symint_attr(context, "n"), columns = symint_attr(context, "m");
  return checked_shape(context, {rows, columns.is(-1) ? rows : columns});
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "eye";
  op.attrs = {{"n", AttrType::ints, std::nullopt, {}, true},
              {"m", AttrType::ints, ints({-1}), {}, true},
              {"diagonal", AttrType::integer, int64_t{0}},
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc =
      "Ones on the `diagonal`-th diagonal of n rows and m columns (n without m), zeros elsewhere; "
      "torch.eye, ONNX EyeLike";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const int64_t diagonal = context.node.attr<int64_t>("diagonal");
    context.require(diagonal > -kUnbounded && diagonal < kUnbounded,
                    str("diagonal ", diagonal, " is too far"));
    return {{context.node.attr<DType>("dtype"), shape(context)}};
  };
  op.element = [](ElementContext& context, std::span<const SymInt> index) {
    const DType dtype = context.node().attr<DType>("dtype");
    const SymInt diagonal = context.node().attr<int64_t>("diagonal");
    const Expr on_diagonal = equal(index_value(index[0] + diagonal), index_value(index[1]));
    return select(on_diagonal, constant_of(dtype, 1), constant_of(dtype, 0));
  };
  op.reference = [](EvalContext& context) {
    RefTensor& out = context.outputs[0];
    const int64_t diagonal = context.node.attr<int64_t>("diagonal");
    for (int64_t row = 0; row < out.shape[0]; ++row) {
      const int64_t column = row + diagonal;
      if (column < 0 || column >= out.shape[1]) continue;
      const auto at = static_cast<size_t>(row * out.shape[1] + column);
      if (out.is_float())
        out.f[at] = 1;
      else
        out.i[at] = 1;
    }
  };
  op.samples = {{.inputs = {}, .attrs = {{"n", 4}}},
                {.inputs = {}, .attrs = {{"n", 2}, {"m", 5}, {"dtype", DType::i32}}},
                {.inputs = {}, .attrs = {{"n", 4}, {"m", 3}, {"diagonal", -1}}},
                {.inputs = {}, .attrs = {{"n", 2}, {"m", 3}, {"diagonal", 9}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_eye
