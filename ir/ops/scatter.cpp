#include "ir/ops/_elementwise.h"
#include "ir/ops/_movement.h"
#include "ir/ops/_scatter.h"

namespace tcc::ir::ops::op_scatter {
namespace {

// The last position along `dim` that writes to this element is searched first, then its value is
// read.
Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Expr x = context.operand(0, index);
  auto scattered = scattered_source(context, index);
  if (!scattered) return x;
  const Expr none = constant_int(DType::i64, -1), first = constant_int(DType::i64, 0);
  const Expr position = select(scattered->hit, index_value(scattered->axis), none);
  const Expr last = reduce(ReduceKind::max, {scattered->axis}, position);
  scattered->index[scattered->dim] = context.indirect(maximum(last, first), scattered->extent);
  return select(equal(last, none), x, context.operand(2, scattered->index));
}

}  // namespace

OpDef make() {
  OpDef op = scatter_op("scatter",
                        "x with src[i] written at index[i] along `dim`, the last of several at one "
                        "place; torch.scatter");
  op.element = element;
  op.takes_f8 = true;
  op.samples.push_back({.inputs = {{DType::boolean, {8}}, {DType::i64, {3}}, {DType::boolean, {3}}},
                        .attrs = {{"dim", 0}},
                        .int_lo = -8});
  op.reference = [](EvalContext& context) {
    scatter(context, [](RefTensor& out, size_t to, const RefTensor& src, size_t from) {
      copy_element(src, static_cast<int64_t>(from), out, static_cast<int64_t>(to));
    });
  };
  return op;
}

}  // namespace tcc::ir::ops::op_scatter
