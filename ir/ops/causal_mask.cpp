#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"

namespace tcc::ir::ops::op_causal_mask {

OpDef make() {
  OpDef op;
  op.name = "causal_mask";
  op.kind = OpKind::pointwise;
  op.attrs = {size_attr({"size", AttrType::ints, std::nullopt}),
              {"diagonal", AttrType::integer, int64_t{0}}};
  op.doc =
      "bool [rows, columns], true where column <= row + diagonal: the keys that a query sees; "
      "torch.ones(rows, columns, dtype=torch.bool).tril(diagonal)";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Shape size = symint_list(context.node, "size");
    context.require(size.size() == 2, "size must be [rows, columns]");
    constexpr int64_t limit = int64_t{1} << 31;
    const int64_t diagonal = context.node.attr<int64_t>("diagonal");
    context.require(diagonal > -limit && diagonal < limit, "diagonal is out of range");
    return {{DType::boolean, checked_shape(context, size)}};
  };
  op.element = [](ElementContext& context, std::span<const SymInt> index) {
    return index_less(index[1], index[0] + (context.node().attr<int64_t>("diagonal") + 1));
  };
  op.reference = [](EvalContext& context) {
    RefTensor& out = context.outputs[0];
    const int64_t diagonal = context.node.attr<int64_t>("diagonal");
    for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
      out.i[static_cast<size_t>(offset)] = index[1] <= index[0] + diagonal;
    });
  };
  op.samples = {
      {{}, {{"size", ints({5, 7})}}},
      {{}, {{"size", ints({9, 4})}, {"diagonal", -2}}},
      {{}, {{"size", ints({1, 1})}, {"diagonal", 1}}},
      {{}, {{"size", ints({0, 3})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_causal_mask
