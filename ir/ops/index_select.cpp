#include <algorithm>
#include <optional>

#include "ir/ops/_creation.h"
#include "ir/ops/_indexing.h"
#include "support/error.h"

namespace tcc::ir::ops::op_index_select {
namespace {

std::vector<Type> infer(const InferContext& context) {
  Type out = *context.inputs[0];
  const Type& index = *context.inputs[1];
  require_index(context, "index", index.dtype);
  context.require(index.shape.size() <= 1,
                  str("index must have one dim at most, not shape ", shape_text(index.shape)));
  const int dim = dim_attr(context, "dim", static_cast<int>(out.shape.size()));
  require_not_empty(context, out.shape, dim, index.shape);
  out.shape[static_cast<size_t>(dim)] = product(index.shape);
  checked_shape(context, out.shape);
  return {out};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Shape& x = context.operand_type(0).shape;
  const auto dim = static_cast<size_t>(dim_attr(context.node(), "dim", static_cast<int>(x.size())));
  if (x[dim].is(0)) return constant_of(context.operand_type(0).dtype, 0);  // of an empty output
  std::vector<SymInt> chosen;
  if (!context.operand_type(1).shape.empty()) chosen.push_back(index[dim]);
  std::vector<SymInt> source(index.begin(), index.end());
  source[dim] = context.indirect(context.operand(1, chosen), x[dim]);
  return context.operand(0, source);
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[0], &chosen = *context.inputs[1];
  const auto dim =
      static_cast<size_t>(dim_attr(context.node, "dim", static_cast<int>(x.shape.size())));
  copy_indexed(context, [&](std::span<const int64_t> index, std::span<int64_t> from) {
    std::copy(index.begin(), index.end(), from.begin());
    from[dim] = place(chosen.i[static_cast<size_t>(index[dim])], x.shape[dim]);
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "index_select";
  op.operands = {"x", "index"};
  op.attrs = {{"dim", AttrType::integer, std::nullopt}};
  op.doc =
      "The slices of x along `dim` that `index` names; negative indices count from the end, all "
      "are clamped into the dim; torch.index_select";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{f32, {8, 5}}, {i64, {3}}}, .attrs = {{"dim", 0}}},
                {.inputs = {{f32, {4, 8, 3}}, {i32, {11}}}, .attrs = {{"dim", 1}}, .int_lo = -8},
                {.inputs = {{i64, {8}}, {i64, Shape{}}}, .attrs = {{"dim", 0}}},
                {.inputs = {{f16, {8, 2}}, {i64, {0}}}, .attrs = {{"dim", 0}}},
                {.inputs = {{boolean, {2, 8}}, {i64, {3}}}, .attrs = {{"dim", 1}}, .int_lo = -8}};
  return op;
}

}  // namespace tcc::ir::ops::op_index_select
