#include <optional>

#include "ir/builder.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_elementwise.h"
#include "ir/ops/_index_loop.h"

namespace tcc::ir::ops::op_iota {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Shape shape = checked_shape(context, symint_list(context.node, "size"));
  dim_attr(context, "dim", static_cast<int>(shape.size()));
  const DType dtype = context.node.attr<DType>("dtype");
  context.require(dtype != DType::boolean, "is not defined for bool");
  return {{dtype, shape}};
}

void reference(EvalContext& context) {
  RefTensor& out = context.outputs[0];
  const auto dim =
      static_cast<size_t>(dim_attr(context.node, "dim", static_cast<int>(out.shape.size())));
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const auto at = static_cast<size_t>(offset);
    if (out.is_float())
      out.f[at] = static_cast<double>(index[dim]);
    else
      out.i[at] = index[dim];
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "iota";
  op.attrs = {size_attr({"size", AttrType::ints, std::nullopt, {}, true}),
              {"dim", AttrType::integer, int64_t{0}},
              {"dtype", AttrType::dtype, DType::i64}};
  op.doc =
      "Every element's own index along `dim`, for sizes that may be symbolic; "
      "torch.ops.prims.iota";
  op.infer = infer;
  op.element = [](ElementContext& context, std::span<const SymInt> index) {
    const int dim = dim_attr(context.node(), "dim", static_cast<int>(index.size()));
    return converted(index_value(index[static_cast<size_t>(dim)]),
                     context.node().attr<DType>("dtype"));
  };
  op.reference = reference;
  op.samples = {
      {.inputs = {}, .attrs = {{"size", ints({7})}}},
      {.inputs = {}, .attrs = {{"size", ints({2, 3})}, {"dim", -1}, {"dtype", DType::f32}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_iota
