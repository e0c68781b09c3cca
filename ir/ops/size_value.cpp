#include "ir/ops/_reduction.h"

namespace tcc::ir::ops::op_size_value {

OpDef make() {
  OpDef op;
  op.name = "size_value";
  op.kind = OpKind::pointwise;
  op.attrs = {size_attr({"size", AttrType::ints, std::nullopt, {}, true})};
  op.doc =
      "A dim expression as an i64 scalar: what compositions divide by when a size is symbolic; "
      "torch.sym_int";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    context.require(context.node.attr<std::vector<SymInt>>("size").size() == 1,
                    "size must be one integer");
    return {{DType::i64, {}}};
  };
  op.reference = [](EvalContext& context) {
    context.outputs[0].i[0] = context.node.ints("size")[0];
  };
  op.element = [](ElementContext& context, std::span<const SymInt>) {
    return index_value(context.node().attr<std::vector<SymInt>>("size")[0]);
  };
  op.samples = {{{}, {{"size", ints({12})}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_size_value
