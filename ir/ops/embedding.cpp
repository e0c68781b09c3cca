#include "ir/ops/_creation.h"
#include "ir/ops/_indexing.h"
#include "support/error.h"

namespace tcc::ir::ops::op_embedding {
namespace {

// torch.nn.functional.embedding takes (indices, weight), ATen (weight, indices). The table is the
// float one.
int weight_operand(DType first, DType second) {
  return !is_float(first) && is_float(second) ? 1 : 0;
}

int weight_operand(const Node& node) {
  return weight_operand(node.inputs[0]->dtype(), node.inputs[1]->dtype());
}

std::vector<Type> infer(const InferContext& context) {
  const int table = weight_operand(context.inputs[0]->dtype, context.inputs[1]->dtype);
  const Type& weight = *context.inputs[static_cast<size_t>(table)];
  const Type& indices = *context.inputs[static_cast<size_t>(1 - table)];
  require_index(context, "the indices", indices.dtype);
  context.require(weight.shape.size() == 2,
                  str("weight must have two dims, not shape ", shape_text(weight.shape)));
  require_not_empty(context, weight.shape, 0, indices.shape);
  Shape shape = indices.shape;
  shape.push_back(weight.shape[1]);
  return {{weight.dtype, checked_shape(context, shape)}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const int table = weight_operand(context.node());
  const Type& weight = context.operand_type(table);
  if (weight.shape[0].is(0)) return constant_of(weight.dtype, 0);  // of an empty output
  const Expr row = context.operand(1 - table, index.first(index.size() - 1));
  const SymInt source[] = {context.indirect(row, weight.shape[0]), index.back()};
  return context.operand(table, source);
}

void reference(EvalContext& context) {
  const auto table = static_cast<size_t>(weight_operand(context.node));
  const RefTensor &weight = *context.inputs[table], &indices = *context.inputs[1 - table];
  const int64_t width = weight.shape[1];
  for_each_index(context.outputs[0].shape, [&](std::span<const int64_t> index, int64_t offset) {
    const int64_t row = place(indices.i[static_cast<size_t>(offset / width)], weight.shape[0]);
    copy_element(weight, row * width + index.back(), context.outputs[0], offset);
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "embedding";
  op.operands = {"indices", "weight"};
  op.attrs = {{"padding_idx", AttrType::integer, int64_t{-1}}};
  op.doc =
      "The rows of weight [n, width] that indices name, clamped into [0, n) after negative ones "
      "counted from the end; ATen's operand order (weight, indices) is taken too, and "
      "padding_idx changes gradients only; torch.nn.functional.embedding";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{i64, {2, 5}}, {f32, {8, 33}}}},
                {.inputs = {{f16, {8, 4}}, {i32, {7}}}},
                {.inputs = {{i64, Shape{}}, {bf16, {8, 6}}}, .int_lo = -8},
                {.inputs = {{i64, {0, 3}}, {f32, {8, 6}}}},
                {.inputs = {{i64, {5}}, {f8e5m2, {8, 16}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_embedding
