#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_elementwise.h"

namespace tcc::ir::ops {
namespace {

// `m` is -1 for as many columns as rows.
Shape shape(const InferContext& context) {
  const SymInt rows = symint_attr(context, "n"), columns = symint_attr(context, "m");
  return checked_shape(context, {rows, columns.is(-1) ? rows : columns});
}

}  // namespace

OpDef make_eye() {
  OpDef op;
  op.name = "eye";
  op.attrs = {{"n", AttrType::ints, std::nullopt, {}, true},
              {"m", AttrType::ints, ints({-1}), {}, true},
              {"dtype", AttrType::dtype, DType::f32}};
  op.doc = "Ones on the diagonal of n rows and m columns (n without m), zeros elsewhere; torch.eye";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {{context.node.attr<DType>("dtype"), shape(context)}};
  };
  op.element = [](ElementContext& context, std::span<const SymInt> index) {
    const DType dtype = context.node().attr<DType>("dtype");
    const Expr on_diagonal = equal(index_value(index[0]), index_value(index[1]));
    return select(on_diagonal, constant_of(dtype, 1), constant_of(dtype, 0));
  };
  op.reference = [](EvalContext& context) {
    RefTensor& out = context.outputs[0];
    for (int64_t k = 0; k < std::min(out.shape[0], out.shape[1]); ++k) {
      const auto at = static_cast<size_t>(k * out.shape[1] + k);
      if (out.is_float())
        out.f[at] = 1;
      else
        out.i[at] = 1;
    }
  };
  op.samples = {{.inputs = {}, .attrs = {{"n", 4}}},
                {.inputs = {}, .attrs = {{"n", 2}, {"m", 5}, {"dtype", DType::i32}}}};
  return op;
}

}  // namespace tcc::ir::ops
