// max_poolNd and avg_poolNd: windows of one size.
#include <algorithm>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_pooling.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

// With ceil_mode, a last window may hang over the end, if it starts inside the input or its left
// padding.
SymInt pooled_extent(const Window& w, const SymInt& extent, bool ceil_mode) {
  if (!ceil_mode) return w.positions(extent);
  const SymInt rounded_up =
      ceildiv(extent + (w.padding_lo + w.padding_hi - w.span()), w.stride) + 1;
  return min(rounded_up, ceildiv(extent + w.padding_lo, w.stride));
}

// PyTorch's padding is at most half a window; ONNX's, which may differ at the ends, less than one.
void check_padding(const InferContext& context, const Window& w, bool has_ends) {
  if (has_ends) {
    const int64_t most = std::max(w.padding_lo, w.padding_hi);
    context.require(most < w.span(),
                    str("padding ", most, " is not less than the window's ", w.span()));
    return;
  }
  context.require(w.padding_lo <= w.span() / 2,
                  str("padding ", w.padding_lo, " is more than half of the window's ", w.span()));
}

struct WindowAxes {
  std::vector<SymInt> axes;
  std::vector<Tap> taps;
};
WindowAxes window_axes(ElementContext& context, std::span<const Window> windows,
                       std::span<const SymInt> o) {
  const Shape& x = context.operand_type(0).shape;
  WindowAxes result;
  for (size_t d = 0; d < windows.size(); ++d) {
    result.axes.push_back(context.new_axis(windows[d].kernel));
    const SymInt position = windows[d].position(o[d], result.axes[d]);
    result.taps.push_back(tap(position, x[x.size() - windows.size() + d]));
  }
  return result;
}

WindowRange range_of(const Window& w, int64_t o) {
  return {o * w.stride - w.padding_lo, w.kernel, w.dilation};
}

// The number of elements of a window that an average counts: those in the padded input (what
// ceil_mode adds is not part of it) or, without the padding, those in the input. A dilated window
// may hold none: its mean is 0.
SymInt counted(const Window& w, const SymInt& o, const SymInt& extent, bool count_include_pad) {
  const SymInt start = o * w.stride - w.padding_lo;
  const SymInt lo = count_include_pad ? SymInt(-w.padding_lo) : SymInt(0);
  const SymInt hi = count_include_pad ? extent + w.padding_hi : extent;
  if (w.dilation == 1)
    return min(start + w.kernel, hi) - (count_include_pad ? start : max(start, lo));
  const SymInt first = max(ceildiv(lo - start, w.dilation), SymInt(0));
  const SymInt last = min(floordiv(hi - 1 - start, w.dilation), SymInt(w.kernel - 1));
  return max(last - first + 1, SymInt(1));
}

SymInt averaged_count(const Node& node, std::span<const Window> windows, const Shape& x,
                      std::span<const SymInt> o) {
  if (const int64_t divisor = node.attr<int64_t>("divisor_override")) return divisor;
  SymInt count = 1;
  for (size_t d = 0; d < windows.size(); ++d)
    count = count * counted(windows[d], o[d], x[x.size() - windows.size() + d],
                            node.attr<bool>("count_include_pad"));
  return count;
}

// Does the same in plain numbers, tap by tap.
double counted_taps(const Window& w, int64_t o, int64_t extent, bool count_include_pad) {
  const int64_t lo = count_include_pad ? -w.padding_lo : 0;
  const int64_t hi = count_include_pad ? extent + w.padding_hi : extent;
  int64_t count = 0;
  for (int64_t k = 0; k < w.kernel; ++k) {
    const int64_t position = o * w.stride - w.padding_lo + k * w.dilation;
    if (position >= lo && position < hi) ++count;
  }
  return static_cast<double>(std::max<int64_t>(count, 1));
}

OpDef pool_op(std::string name, int spatial) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::pointwise;
  op.operands = {"x"};
  op.attrs = pool_attrs();
  op.infer = [spatial](const InferContext& context) { return infer_pool(context, spatial); };
  return op;
}

}  // namespace

std::vector<AttrDef> pool_attrs() {
  return {{"kernel_size", AttrType::ints, std::nullopt, {}, true},
          {"stride", AttrType::ints, ints({}), {}, true},    // none: the kernel's size
          {"padding", AttrType::ints, ints({0}), {}, true},  // of both ends, or all ends by dim
          {"ceil_mode", AttrType::boolean, false},
          {"dilation", AttrType::ints, ints({1}), {}, true}};
}

std::vector<Window> pool_windows(const Node& node, int spatial) {
  const auto kernel = spatial_ints(node, "kernel_size", spatial);
  const auto stride = spatial_ints(node, "stride", spatial, kernel);
  const auto padding = spatial_padding(node, "padding", spatial);
  const auto dilation = spatial_ints(node, "dilation", spatial);
  std::vector<Window> windows;
  for (size_t d = 0; d < kernel.size(); ++d)
    windows.push_back({kernel[d], stride[d], dilation[d], padding.lo[d], padding.hi[d]});
  return windows;
}

std::vector<Type> infer_pool(const InferContext& context, int spatial) {
  const Type& x = *context.inputs[0];
  context.require(x.dtype != DType::boolean, "x must be a tensor of numbers");
  require_image(context, 0, spatial);
  const auto kernel = spatial_ints(context, "kernel_size", spatial, 1);
  spatial_ints(context, "stride", spatial, 1, kernel);
  spatial_padding(context, "padding", spatial);
  spatial_ints(context, "dilation", spatial, 1);
  const auto windows = pool_windows(context.node, spatial);
  const bool has_ends = symint_list(context.node, "padding").size() == 2 * windows.size();
  Shape out = x.shape;
  for (size_t d = 0; d < windows.size(); ++d) {
    const Window& w = windows[d];
    SymInt& extent = out[out.size() - windows.size() + d];
    require_fit(context, w, extent);
    check_padding(context, w, has_ends);
    extent = pooled_extent(w, extent, context.node.attr<bool>("ceil_mode"));
  }
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

OpDef max_pool_op(int spatial) {
  OpDef op = pool_op(str("max_pool", spatial, "d"), spatial);
  op.doc =
      str("Maximum over windows of the last ", spatial,
          " dims of x [N, C, ...]; padding never wins; torch.nn.functional.max_pool", spatial, "d");
  op.element = [spatial](ElementContext& context, std::span<const SymInt> index) {
    const auto windows = pool_windows(context.node(), spatial);
    const auto w = window_axes(context, windows, index.last(static_cast<size_t>(spatial)));
    return reduce_window(context, ReduceKind::max, index, w.axes, w.taps);
  };
  op.reference = [spatial](EvalContext& context) {
    const auto windows = pool_windows(context.node, spatial);
    pool_reference(
        context, ReduceKind::max, spatial,
        [&](size_t d, int64_t o) { return range_of(windows[d], o); }, nullptr);
  };
  return op;
}

OpDef avg_pool_op(int spatial) {
  OpDef op = pool_op(str("avg_pool", spatial, "d"), spatial);
  op.attrs.push_back({"count_include_pad", AttrType::boolean, true});
  op.attrs.push_back({"divisor_override", AttrType::integer, int64_t{0}});  // 0: none
  op.doc = str("Mean over windows of the last ", spatial,
               " dims of x [N, C, ...]; torch.nn.functional.avg_pool", spatial, "d");
  op.infer = [spatial](const InferContext& context) {
    context.require(is_float(context.inputs[0]->dtype), "x must be a float tensor");
    context.require(context.node.attr<int64_t>("divisor_override") >= 0,
                    "divisor_override must not be negative");
    return infer_pool(context, spatial);
  };
  op.element = [spatial](ElementContext& context, std::span<const SymInt> index) {
    const auto windows = pool_windows(context.node(), spatial);
    const auto o = index.last(static_cast<size_t>(spatial));
    const auto w = window_axes(context, windows, o);
    const Expr sum = reduce_window(context, ReduceKind::sum, index, w.axes, w.taps);
    return divide_by_count(
        sum, averaged_count(context.node(), windows, context.operand_type(0).shape, o));
  };
  op.reference = [spatial](EvalContext& context) {
    const auto windows = pool_windows(context.node, spatial);
    const auto& x = context.inputs[0]->shape;
    const auto divisor = [&](std::span<const int64_t> o) {
      if (const int64_t given = context.node.attr<int64_t>("divisor_override"))
        return static_cast<double>(given);
      double count = 1;
      for (size_t d = 0; d < o.size(); ++d)
        count *= counted_taps(windows[d], o[d], x[x.size() - o.size() + d],
                              context.node.attr<bool>("count_include_pad"));
      return count;
    };
    pool_reference(
        context, ReduceKind::sum, spatial,
        [&](size_t d, int64_t o) { return range_of(windows[d], o); }, divisor);
  };
  return op;
}

}  // namespace tcc::ir::ops
