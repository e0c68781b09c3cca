#include <optional>

#include "ir/ops/_creation.h"
#include "ir/ops/_indexing.h"

namespace tcc::ir::ops::op_gather {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type &x = *context.inputs[0], &index = *context.inputs[1];
  require_index(context, "index", index.dtype);
  const int dim = dim_attr(context, "dim", static_cast<int>(x.shape.size()));
  require_covered(context, "index", index.shape, "x", x.shape, dim);
  require_not_empty(context, x.shape, dim, index.shape);
  return {{x.dtype, index.shape}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Shape& x = context.operand_type(0).shape;
  const auto dim = static_cast<size_t>(dim_attr(context.node(), "dim", static_cast<int>(x.size())));
  if (x[dim].is(0)) return constant_of(context.operand_type(0).dtype, 0);  // of an empty output
  std::vector<SymInt> source(index.begin(), index.end());
  source[dim] = context.indirect(context.operand(1, index), x[dim]);
  return context.operand(0, source);
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[0], &chosen = *context.inputs[1];
  const auto dim =
      static_cast<size_t>(dim_attr(context.node, "dim", static_cast<int>(x.shape.size())));
  for_each_index(chosen.shape, [&](std::span<const int64_t> index, int64_t offset) {
    std::vector<int64_t> from(index.begin(), index.end());
    from[dim] = place(chosen.i[static_cast<size_t>(offset)], x.shape[dim]);
    copy_element(x, offset_of(from, x.shape), context.outputs[0], offset);
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "gather";
  op.operands = {"x", "index"};
  op.attrs = {{"dim", AttrType::integer, std::nullopt}};
  op.doc =
      "x[..., index[..., i, ...], ...] along `dim`; negative indices count from the end, all "
      "are clamped into the dim; torch.gather";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {
      {.inputs = {{f32, {8, 5}}, {i64, {3, 5}}}, .attrs = {{"dim", 0}}},
      {.inputs = {{f32, {4, 8}}, {i32, {3, 11}}}, .attrs = {{"dim", -1}}},
      {.inputs = {{f16, {2, 8, 3}}, {i64, {2, 4, 2}}}, .attrs = {{"dim", 1}}, .int_lo = -8},
      {.inputs = {{i32, {8}}, {i64, {0}}}, .attrs = {{"dim", 0}}},
      {.inputs = {{boolean, {8, 3}}, {i64, {4, 3}}}, .attrs = {{"dim", 0}}, .int_lo = -8},
      {.inputs = {{u8, {8}}, {i32, {5}}}, .attrs = {{"dim", 0}}},
      {.inputs = {{f8e4m3, {8}}, {i32, {5}}}, .attrs = {{"dim", 0}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_gather
