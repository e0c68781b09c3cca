#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_pooling.h"
#include "support/error.h"

namespace tcc::ir::ops::op_max_pool_indices {
namespace {

int spatial_rank(const Node& node) {
  return static_cast<int>(symint_list(node, "kernel_size").size());
}

// The input position of tap k. Taps beside the input stand for the nearest one inside: a maximum
// does not mind meeting an element twice, and needs no value for the padding that never wins.
SymInt inner_position(const Window& w, const SymInt& o, const SymInt& k, const SymInt& extent) {
  const SymInt position = w.position(o, k);
  if (!tap(position, extent).valid) return position;
  const SymInt start = w.position(o, 0);
  const SymInt first = max(ceildiv(-start, w.dilation), SymInt(0));
  const SymInt last = min(floordiv(extent - 1 - start, w.dilation), SymInt(w.kernel - 1));
  // A dilated window may miss the input altogether.
  return max(min(w.position(o, min(max(k, first), last)), extent - 1), SymInt(0));
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const int spatial = spatial_rank(context.node());
  const auto windows = pool_windows(context.node(), spatial);
  const Shape extents = spatial_dims(context.operand_type(0).shape, spatial);
  const auto o = index.last(windows.size());
  const auto positions = [&](std::span<const SymInt> taps) {
    std::vector<SymInt> at;
    for (size_t d = 0; d < windows.size(); ++d)
      at.push_back(inner_position(windows[d], o[d], taps[d], extents[d]));
    return at;
  };
  Shape kernel;
  std::vector<SymInt> axes;
  for (const Window& w : windows) {
    kernel.push_back(w.kernel);
    axes.push_back(context.new_axis(w.kernel));
  }
  std::vector<SymInt> at(index.begin(), index.end() - spatial);
  const auto inner = positions(axes);
  at.insert(at.end(), inner.begin(), inner.end());
  const Expr best = reduce(ReduceKind::argmax, axes, context.operand(0, at));
  const SymInt taps = product(kernel);
  const SymInt winner = taps.is(1) ? SymInt(0) : context.indirect(best, taps);
  return index_value(linearize(positions(delinearize(winner, kernel)), extents));
}

template <class T, class Better>
int64_t first_best(const RefTensor& x, const std::vector<T>& data, int64_t plane,
                   std::span<const Window> windows, std::span<const int64_t> o, Better better) {
  const auto extents = std::span<const int64_t>(x.shape).last(windows.size());
  std::vector<int64_t> kernel, k(windows.size(), 0);
  for (const Window& w : windows) kernel.push_back(w.kernel);
  int64_t best = -1;
  for (int64_t taps = count_of(kernel); taps > 0; --taps, ops::advance(k, kernel)) {
    int64_t place = 0;
    bool inside = true;
    for (size_t d = 0; d < windows.size(); ++d) {
      const Window& w = windows[d];
      const int64_t position = o[d] * w.stride - w.padding_lo + k[d] * w.dilation;
      inside &= position >= 0 && position < extents[d];
      place = place * extents[d] + position;
    }
    const auto value = [&](int64_t p) { return data[static_cast<size_t>(plane + p)]; };
    if (inside && (best < 0 || better(value(place), value(best)))) best = place;
  }
  return best;
}

void reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  const auto windows = pool_windows(context.node, spatial_rank(context.node));
  const int64_t size = count_of(std::span<const int64_t>(x.shape).last(windows.size()));
  const int64_t out_size = count_of(std::span<const int64_t>(out.shape).last(windows.size()));
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const auto o = index.last(windows.size());
    const int64_t plane = offset / out_size * size;
    int64_t& to = out.i[static_cast<size_t>(offset)];
    if (x.is_float()) {
      to = first_best(x, x.f, plane, windows, o,
                      [](double a, double b) { return a > b || (a != a && b == b); });
    } else if (x.dtype == DType::u64) {
      to = first_best(x, x.i, plane, windows, o, [](int64_t a, int64_t b) {
        return static_cast<uint64_t>(a) > static_cast<uint64_t>(b);
      });
    } else {
      to = first_best(x, x.i, plane, windows, o, std::greater<int64_t>());
    }
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "max_pool_indices";
  op.operands = {"x"};
  op.attrs = pool_attrs();
  op.doc =
      "Where the maximum of each window lies, the first of several: its row-major place among the "
      "last dims of x, as many as kernel_size has entries; the second result of "
      "torch.nn.functional.max_pool2d_with_indices";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    return {{DType::i64, infer_pool(context, spatial_rank(context.node))[0].shape}};
  };
  op.element = element;
  op.reference = reference;
  op.samples = {
      {{{DType::f32, {2, 3, 7, 9}}}, {{"kernel_size", ints({2, 2})}}},
      {{{DType::f32, {1, 4, 8, 8}}},
       {{"kernel_size", ints({3, 3})}, {"stride", 2}, {"padding", ints({1, 0, 2, 1})}}},
      {{{DType::f32, {1, 2, 11}}},
       {{"kernel_size", ints({3})}, {"stride", 2}, {"padding", 1}, {"dilation", 2}}},
      {{{DType::f32, {3, 7, 6}}}, {{"kernel_size", ints({3, 2})}, {"ceil_mode", true}}},
      {{{DType::f16, {1, 2, 4, 5, 6}}}, {{"kernel_size", ints({2, 3, 2})}, {"stride", 1}}},
      {{{DType::f32, {0, 2, 5, 5}}}, {{"kernel_size", ints({2, 2})}}},
      {{{DType::f32, {1, 3, 1, 4}}}, {{"kernel_size", ints({1, 1})}}},
      {{{DType::i8, {1, 2, 6, 6}}},
       {{"kernel_size", ints({3, 3})}, {"padding", 1}},
       -2,
       2,
       -128,
       -125},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_max_pool_indices
