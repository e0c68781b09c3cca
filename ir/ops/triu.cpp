#include "ir/ops/_elementwise.h"
#include "ir/ops/_triangle.h"

namespace tcc::ir::ops::op_triu {

OpDef make() {
  OpDef op = triangle("triu", "x on and above the `diagonal`-th diagonal, 0 below it; torch.triu");
  op.element = [](ElementContext& context, std::span<const SymInt> index) {
    const SymInt diagonal = context.node().attr<int64_t>("diagonal");
    const size_t row = index.size() - 2, column = index.size() - 1;
    const Expr kept = index_less(diagonal - 1, index[column] - index[row]);
    const Expr x = context.operand(0, index);
    return select(kept, x, literal(x, 0));
  };
  op.reference = [](EvalContext& context) {
    copy_where(context, [&](int64_t column_less_row) {
      return column_less_row >= context.node.attr<int64_t>("diagonal");
    });
  };
  return op;
}

}  // namespace tcc::ir::ops::op_triu
