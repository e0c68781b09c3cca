#include "ir/ops/_elementwise.h"
#include "ir/ops/_scatter.h"

namespace tcc::ir::ops::op_scatter_add {
namespace {

// Adding is done per element of the output, which reads every index along `dim`: the order of the
// sum is fixed.
Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Expr x = context.operand(0, index);
  const auto scattered = scattered_source(context, index);
  if (!scattered) return x;
  const Expr src = context.operand(2, scattered->index);
  const Expr term = select(scattered->hit, src, literal(src, 0));
  return add(x, reduce(ReduceKind::sum, {scattered->axis}, term));
}

}  // namespace

OpDef make() {
  OpDef op = scatter_op("scatter_add",
                        "x with src[i] added at index[i] along `dim`, in order; torch.scatter_add");
  op.element = element;
  op.reference = [](EvalContext& context) {
    scatter(context, [](RefTensor& out, size_t to, const RefTensor& src, size_t from) {
      scatter_fold(ReduceKind::sum, out, to, src, from);
    });
  };
  return op;
}

}  // namespace tcc::ir::ops::op_scatter_add
