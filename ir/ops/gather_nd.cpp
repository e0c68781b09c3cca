#include "ir/ops/_creation.h"
#include "ir/ops/_indexing.h"
#include "support/error.h"

namespace tcc::ir::ops::op_gather_nd {
namespace {

size_t batch_dims(const Node& node) {
  return static_cast<size_t>(node.attr<int64_t>("batch_dims"));
}

// Dims of x that one tuple of indices chooses from.
size_t chosen_dims(const Shape& indices) { return static_cast<size_t>(indices.back().value()); }

std::vector<Type> infer(const InferContext& context) {
  const Type &x = *context.inputs[0], &indices = *context.inputs[1];
  require_index(context, "indices", indices.dtype);
  const int64_t batch = context.node.attr<int64_t>("batch_dims");
  const auto rank = static_cast<int64_t>(x.shape.size()),
             index_rank = static_cast<int64_t>(indices.shape.size());
  context.require(batch >= 0 && batch <= rank && batch < index_rank,
                  str("batch_dims ", batch, " leaves nothing of ", shape_text(x.shape), " and ",
                      shape_text(indices.shape)));
  const SymInt& count = indices.shape.back();
  context.require(count.is_const() && count.value() <= rank - batch,
                  str("indices of shape ", shape_text(indices.shape), " name ", count.to_string(),
                      " dims, x has ", rank - batch, " beyond the batch"));
  for (int64_t d = 0; d < batch; ++d) {
    const SymInt &a = x.shape[static_cast<size_t>(d)], &b = indices.shape[static_cast<size_t>(d)];
    context.require(
        !a.is_const() || !b.is_const() || a == b,
        str("batch dim ", d, " is ", a.to_string(), " in x, ", b.to_string(), " in indices"));
  }
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + batch + count.value(), x.shape.end());
  for (int64_t d = 0; d < count.value(); ++d)
    require_not_empty(context, x.shape, static_cast<int>(batch + d), shape);
  return {{x.dtype, checked_shape(context, shape)}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Type& x = context.operand_type(0);
  const Shape& indices = context.operand_type(1).shape;
  const size_t batch = batch_dims(context.node()), count = chosen_dims(indices);
  if (product(x.shape).is(0)) return constant_of(x.dtype, 0);  // of an empty output
  const auto tuple = index.first(indices.size() - 1);
  std::vector<SymInt> source(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(batch));
  std::vector<SymInt> at(tuple.begin(), tuple.end());
  at.emplace_back(0);
  for (size_t d = 0; d < count; ++d) {
    at.back() = static_cast<int64_t>(d);
    source.push_back(context.indirect(context.operand(1, at), x.shape[batch + d]));
  }
  source.insert(source.end(), index.begin() + static_cast<std::ptrdiff_t>(tuple.size()),
                index.end());
  return context.operand(0, source);
}

void reference(EvalContext& context) {
  const RefTensor& chosen = *context.inputs[1];
  const size_t batch = batch_dims(context.node), tuple = chosen.shape.size() - 1;
  const auto count = static_cast<size_t>(chosen.shape.back());
  const auto& x = context.inputs[0]->shape;
  const std::vector<int64_t> tuples(chosen.shape.begin(), chosen.shape.end() - 1);
  copy_indexed(context, [&](std::span<const int64_t> index, std::span<int64_t> from) {
    const auto first =
        static_cast<size_t>(offset_of(index.first(tuple), tuples) * chosen.shape.back());
    for (size_t d = 0; d < batch; ++d) from[d] = index[d];
    for (size_t d = 0; d < count; ++d) from[batch + d] = place(chosen.i[first + d], x[batch + d]);
    for (size_t d = batch + count; d < x.size(); ++d) from[d] = index[tuple + d - batch - count];
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "gather_nd";
  op.operands = {"x", "indices"};
  op.attrs = {{"batch_dims", AttrType::integer, int64_t{0}}};
  op.doc =
      "The slices of x that the tuples along the last dim of indices name, after `batch_dims` "
      "leading dims that both have; negative indices count from the end, all are clamped; "
      "ONNX GatherND";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{f32, {8, 8, 3}}, {i64, {4, 2}}}, .int_lo = -8},
                {.inputs = {{f16, {8, 5}}, {i32, {2, 3, 1}}}},
                {.inputs = {{i32, {2, 8, 4}}, {i64, {2, 3, 1}}}, .attrs = {{"batch_dims", 1}}},
                {.inputs = {{boolean, {8, 8}}, {i64, {2}}}},
                {.inputs = {{f32, {3, 2}}, {i64, {4, 0}}}},
                {.inputs = {{f32, {8, 2}}, {i64, {0, 1}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_gather_nd
