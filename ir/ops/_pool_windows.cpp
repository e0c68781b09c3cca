// max_poolNd and avg_poolNd: windows of one size.
#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_pooling.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

// Windows of a checked node; only max pooling has a dilation.
std::vector<Window> pool_windows(const Node& node, int spatial) {
  const auto kernel = spatial_ints(node, "kernel_size", spatial);
  const auto stride = spatial_ints(node, "stride", spatial, kernel);
  const auto padding = spatial_ints(node, "padding", spatial);
  const auto dilation = node.has_attr("dilation") ? spatial_ints(node, "dilation", spatial)
                                                  : std::vector<int64_t>(kernel.size(), 1);
  std::vector<Window> windows;
  for (size_t d = 0; d < kernel.size(); ++d)
    windows.push_back({kernel[d], stride[d], dilation[d], padding[d], padding[d]});
  return windows;
}

// With ceil_mode, a last window may hang over the end, if it starts inside the input or its left
// padding.
SymInt pooled_extent(const Window& w, const SymInt& extent, bool ceil_mode) {
  if (!ceil_mode) return w.positions(extent);
  const SymInt rounded_up = ceildiv(extent + (2 * w.padding_lo - w.span()), w.stride) + 1;
  return min(rounded_up, ceildiv(extent + w.padding_lo, w.stride));
}

std::vector<Type> infer_pool(const InferContext& context, int spatial) {
  const Type& x = *context.inputs[0];
  context.require(x.dtype != DType::boolean, "x must be a tensor of numbers");
  require_image(context, 0, spatial);
  const auto kernel = spatial_ints(context, "kernel_size", spatial, 1);
  spatial_ints(context, "stride", spatial, 1, kernel);
  spatial_ints(context, "padding", spatial, 0);
  if (context.node.has_attr("dilation")) spatial_ints(context, "dilation", spatial, 1);
  const auto windows = pool_windows(context.node, spatial);
  Shape out = x.shape;
  for (size_t d = 0; d < windows.size(); ++d) {
    const Window& w = windows[d];
    SymInt& extent = out[out.size() - windows.size() + d];
    require_fit(context, w, extent);
    context.require(w.padding_lo <= w.span() / 2,
                    str("padding ", w.padding_lo, " is more than half of the window's ", w.span()));
    extent = pooled_extent(w, extent, context.node.attr<bool>("ceil_mode"));
  }
  return {{x.dtype, checked_shape(context, std::move(out))}};
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
// ceil_mode adds is not part of it) or, without the padding, those in the input.
SymInt counted(const Window& w, const SymInt& o, const SymInt& extent, bool count_include_pad) {
  const SymInt start = o * w.stride - w.padding_lo;
  if (count_include_pad) return min(start + w.kernel, extent + w.padding_hi) - start;
  return min(start + w.kernel, extent) - max(start, SymInt(0));
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

OpDef pool_op(std::string name, int spatial) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::pointwise;
  op.operands = {"x"};
  op.attrs = {{"kernel_size", AttrType::ints, std::nullopt, {}, true},
              {"stride", AttrType::ints, ints({}), {}, true},  // none: the kernel's size
              {"padding", AttrType::ints, ints({0}), {}, true},
              {"ceil_mode", AttrType::boolean, false}};
  op.expensive = true;
  op.infer = [spatial](const InferContext& context) { return infer_pool(context, spatial); };
  return op;
}

}  // namespace

OpDef max_pool_op(int spatial) {
  OpDef op = pool_op(str("max_pool", spatial, "d"), spatial);
  op.attrs.push_back({"dilation", AttrType::ints, ints({1}), {}, true});
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
    const Shape x(context.inputs[0]->shape.begin(), context.inputs[0]->shape.end());
    const auto divisor = [&](std::span<const int64_t> o) {
      const Shape at(o.begin(), o.end());
      return static_cast<double>(averaged_count(context.node, windows, x, at).value());
    };
    pool_reference(
        context, ReduceKind::sum, spatial,
        [&](size_t d, int64_t o) { return range_of(windows[d], o); }, divisor);
  };
  return op;
}

}  // namespace tcc::ir::ops
