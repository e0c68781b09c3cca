#include "ir/builder.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_movement.h"
#include "ir/ops/_unfold.h"
#include "support/error.h"

namespace tcc::ir::ops::op_unfold {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const int spatial = window_rank(context.node);
  context.require(spatial >= 1, "kernel_size must have an entry for each spatial dim");
  require_image(context, 0, spatial);
  const Columns columns = columns_of(context, spatial_dims(x.shape, spatial));
  Shape out(x.shape.begin(), x.shape.end() - spatial);
  out.back() = checked_size(context, out.back(), product(columns.kernel));
  out.push_back(product(columns.places));
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Shape& x = context.operand_type(0).shape;
  const Columns columns = columns_of(context.node(), spatial_dims(x, window_rank(context.node())));
  const SymInt taps = product(columns.kernel), &row = index[index.size() - 2];
  std::vector<SymInt> at(index.begin(), index.end() - 2);
  at.push_back(floordiv(row, taps));
  const auto k = delinearize(mod(row, taps), columns.kernel);
  const auto o = delinearize(index.back(), columns.places);
  std::vector<Expr> conditions;
  for (size_t d = 0; d < columns.windows.size(); ++d) {
    const Tap t = tap(columns.windows[d].position(o[d], k[d]), columns.extents[d]);
    at.push_back(t.index);
    conditions.push_back(t.valid);
  }
  const Expr value = context.operand(0, at), valid = all_of(conditions);
  return valid ? select(valid, value, constant_of(context.operand_type(0).dtype, 0)) : value;
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  const auto spatial = static_cast<size_t>(window_rank(context.node));
  const auto extents = std::span<const int64_t>(x.shape).last(spatial);
  const Columns columns = columns_of(context.node, Shape(extents.begin(), extents.end()));
  std::vector<int64_t> kernel, places;
  for (const SymInt& k : columns.kernel) kernel.push_back(k.value());
  for (const SymInt& o : columns.places) places.push_back(o.value());
  const int64_t taps = count_of(kernel);
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const int64_t row = index[index.size() - 2];
    const int64_t image = index.size() == 3 ? index[0] * (out.shape[1] / taps) : 0;
    int64_t from = image + row / taps;
    const auto k = index_of(row % taps, kernel), o = index_of(index.back(), places);
    for (size_t d = 0; d < spatial; ++d) {
      const Window& w = columns.windows[d];
      const int64_t position = o[d] * w.stride - w.padding_lo + k[d] * w.dilation;
      if (position < 0 || position >= extents[d]) return;  // a zero stays
      from = from * extents[d] + position;
    }
    copy_element(x, from, out, offset);
  });
}

}  // namespace

OpDef make() {
  OpDef op = column_op("unfold");
  op.doc =
      "The windows of x [N, C, ...] as columns [N, C * kernel elements, places]; "
      "torch.nn.functional.unfold";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {
      {{{f32, {2, 3, 5, 6}}}, {{"kernel_size", ints({2, 3})}}},
      {{{f32, {2, 5, 6}}},
       {{"kernel_size", ints({3, 3})}, {"padding", 1}, {"stride", 2}, {"dilation", ints({1, 2})}}},
      {{{f16, {1, 2, 9}}}, {{"kernel_size", ints({4})}, {"padding", ints({0, 3})}}},
      {{{i32, {1, 2, 3, 4, 3}}}, {{"kernel_size", ints({2, 2, 1})}}},
      {{{f32, {0, 2, 4, 4}}}, {{"kernel_size", ints({2, 2})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_unfold
