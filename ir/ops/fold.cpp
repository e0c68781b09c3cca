#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_unfold.h"
#include "support/error.h"

namespace tcc::ir::ops::op_fold {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  context.require(x.dtype != DType::boolean, "x must be a tensor of numbers");
  const size_t rank = x.shape.size();
  context.require(rank == 2 || rank == 3, "x must be [N, C * kernel elements, places]");
  const Shape size = symint_list(context.node, "output_size");
  context.require(!size.empty() && static_cast<int>(size.size()) == window_rank(context.node),
                  "output_size and kernel_size must have an entry for each spatial dim");
  const Columns columns = columns_of(context, size);
  const SymInt taps = product(columns.kernel), places = product(columns.places);
  context.require(x.shape[rank - 2].divisible_by(taps.value()),
                  str("the ", x.shape[rank - 2], " rows of x are no multiple of the kernel's ",
                      taps, " elements"));
  context.require(may_be_equal({x.shape[rank - 1]}, {places}),
                  str("x has ", x.shape[rank - 1], " columns; the window has ", places, " places"));
  Shape out(x.shape.begin(), x.shape.end() - 1);
  out.back() = floordiv(out.back(), taps);
  out.insert(out.end(), size.begin(), size.end());
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Columns columns = columns_of(context.node(), symint_list(context.node(), "output_size"));
  const size_t spatial = columns.windows.size();
  const auto position = index.last(spatial);
  std::vector<SymInt> axes, places;
  std::vector<Expr> conditions;
  for (size_t d = 0; d < spatial; ++d) {
    const Window& w = columns.windows[d];
    axes.push_back(context.new_axis(w.kernel));
    const SymInt distance = position[d] + w.padding_lo - axes[d] * w.dilation;
    if (w.stride != 1)
      conditions.push_back(
          call(Fn::eq, {index_value(mod(distance, w.stride)), constant_int(DType::i64, 0)}));
    const Tap t = tap(floordiv(distance, w.stride), columns.places[d]);
    places.push_back(t.index);
    conditions.push_back(t.valid);
  }
  std::vector<SymInt> at(index.begin(), index.end() - static_cast<std::ptrdiff_t>(spatial));
  at.back() = at.back() * product(columns.kernel) + linearize(axes, columns.kernel);
  at.push_back(linearize(places, columns.places));
  Expr value = context.operand(0, at);
  if (const Expr valid = all_of(conditions))
    value = select(valid, value, constant_of(context.operand_type(0).dtype, 0));
  return reduce(ReduceKind::sum, axes, value);
}

// Adds every element of x where it belongs.
template <class T>
void add_columns(const Columns& columns, const RefTensor& x, const std::vector<T>& from,
                 std::vector<T>& to) {
  std::vector<int64_t> kernel, places, extents;
  for (const SymInt& k : columns.kernel) kernel.push_back(k.value());
  for (const SymInt& o : columns.places) places.push_back(o.value());
  for (const SymInt& e : columns.extents) extents.push_back(e.value());
  const int64_t count = count_of(places), taps = count_of(kernel);
  for (int64_t k = 0; k < x.numel(); ++k) {
    const auto o = index_of(k % count, places), tap = index_of(k / count % taps, kernel);
    int64_t place = k / count / taps;
    bool inside = true;
    for (size_t d = 0; d < o.size(); ++d) {
      const Window& w = columns.windows[d];
      const int64_t position = o[d] * w.stride - w.padding_lo + tap[d] * w.dilation;
      inside &= position >= 0 && position < extents[d];
      place = place * extents[d] + position;
    }
    if (inside) to[static_cast<size_t>(place)] += from[static_cast<size_t>(k)];
  }
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  const Columns columns = columns_of(context.node, symint_list(context.node, "output_size"));
  if (x.is_float())
    add_columns(columns, x, x.f, context.outputs[0].f);
  else
    add_columns(columns, x, x.i, context.outputs[0].i);
}

}  // namespace

OpDef make() {
  OpDef op = column_op("fold");
  op.attrs.insert(op.attrs.begin(), {"output_size", AttrType::ints, std::nullopt});
  op.doc =
      "The sum of columns x [N, C * kernel elements, places] of windows as images [N, C, "
      "output_size]; torch.nn.functional.fold, ONNX's Col2Im";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  op.samples = {
      {{{f32, {2, 18, 16}}}, {{"output_size", ints({5, 6})}, {"kernel_size", ints({2, 3})}}},
      {{{f32, {18, 6}}},
       {{"output_size", ints({5, 6})},
        {"kernel_size", ints({3, 3})},
        {"padding", 1},
        {"stride", 2},
        {"dilation", ints({1, 2})}}},
      {{{f16, {1, 8, 9}}},
       {{"output_size", ints({9})}, {"kernel_size", ints({4})}, {"padding", ints({0, 3})}}},
      {{{i32, {1, 4, 6}}}, {{"output_size", ints({3, 4})}, {"kernel_size", ints({2, 2})}}},
      {{{f32, {0, 4, 9}}}, {{"output_size", ints({4, 4})}, {"kernel_size", ints({2, 2})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_fold
