// conv1d .. conv3d and their transposes, composed of `convolution`.
#include <algorithm>

#include "ir/ops/_attributes.h"
#include "ir/ops/_contraction.h"
#include "ir/ops/_convolution.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

// One window per spatial dim of `weight`, without padding. For shape rules, which check, and for
// compositions.
template <class Context>
std::vector<Window> unpadded_windows(const Context& context, const Shape& weight, int spatial) {
  const auto ints_of = [&](std::string_view key) {
    if constexpr (std::is_same_v<Context, InferContext>)
      return spatial_ints(context, key, spatial, 1);
    else
      return spatial_ints(context, key, spatial);
  };
  const auto stride = ints_of("stride"), dilation = ints_of("dilation");
  std::vector<Window> windows;
  for (size_t d = 0; d < static_cast<size_t>(spatial); ++d)
    windows.push_back({weight[d + 2].value(), stride[d], dilation[d], 0, 0});
  return windows;
}

// Both operands have `spatial` dims behind their channels, the kernel is constant, and there is one
// bias per output channel, of the result's dtype.
void check_operands(const InferContext& context, int spatial, const SymInt& out_channels,
                    DType dtype) {
  const Type& weight = *context.inputs[1];
  require_image(context, 0, spatial);
  const Type* bias = context.inputs[2];
  context.require(!bias || bias->dtype == dtype,
                  str("bias is ", bias ? name(bias->dtype) : "", ", the result ", name(dtype)));
  for (const SymInt& extent : spatial_dims(weight.shape, spatial))
    context.require(extent.is_const() && extent.value() >= 1 && extent.value() < (int64_t{1} << 31),
                    str("the kernel of weight ", shape_text(weight.shape),
                        " must be of constant, positive size"));
  require_shape(context, 2, {out_channels}, "[output channels]");
}

void require_weight_rank(const InferContext& context, int spatial) {
  const Shape& weight = context.inputs[1]->shape;
  context.require(
      static_cast<int>(weight.size()) == spatial + 2,
      str("weight must have ", spatial + 2, " dims, not the shape ", shape_text(weight)));
}

int64_t checked_groups(const InferContext& context, const SymInt& divided, std::string_view what) {
  const int64_t groups = context.node.attr<int64_t>("groups");
  context.require(groups >= 1 && may_be_divided(divided, groups),
                  str("groups ", groups, " does not divide the ", divided, " ", what));
  return groups;
}

// [C, ...] or [N, C, ...], with the channels and the spatial extents replaced.
Shape image_shape(const Shape& x, const SymInt& channels, const std::vector<SymInt>& extents) {
  Shape out(x.begin(), x.end() - static_cast<std::ptrdiff_t>(extents.size()));
  out.back() = channels;
  out.insert(out.end(), extents.begin(), extents.end());
  return out;
}

// convolution(x, weight) + bias; a missing batch dim comes and goes.
Value* convolve(Builder& b, Value* x, Value* weight, Value* bias, Attrs attrs, const Shape& out) {
  if (x->rank() < weight->rank()) x = b.unsqueeze(x, 0);
  Value* y = affine(b, b.op("convolution", {x, weight}, std::move(attrs)), nullptr, bias, 1);
  return y->shape().size() == out.size() ? y : b.reshape(y, out);
}

std::vector<int64_t> pairs(const std::vector<Window>& windows) {
  std::vector<int64_t> padding;
  for (const Window& w : windows) padding.insert(padding.end(), {w.padding_lo, w.padding_hi});
  return padding;
}

Attrs convolution_attrs(const Node& node, const std::vector<Window>& windows) {
  std::vector<int64_t> stride, dilation;
  for (const Window& w : windows) {
    stride.push_back(w.stride);
    dilation.push_back(w.dilation);
  }
  return {{"stride", ints(stride)},
          {"padding", ints(pairs(windows))},
          {"dilation", ints(dilation)},
          {"groups", node.attr<int64_t>("groups")}};
}

// ---- convN d

void pad_conv(std::vector<Window>& windows, const std::string& auto_pad, const Padding& padding) {
  for (size_t d = 0; d < windows.size(); ++d) {
    Window& w = windows[d];
    const int64_t same =
        w.span() - 1;  // what stride 1 needs to keep the extent; an odd one pads more behind
    w.padding_lo = auto_pad == "same" ? same / 2 : auto_pad == "valid" ? 0 : padding.lo[d];
    w.padding_hi = auto_pad == "same" ? same - same / 2 : auto_pad == "valid" ? 0 : padding.hi[d];
  }
}

std::vector<Type> infer_conv(const InferContext& context, int spatial) {
  const Type& x = *context.inputs[0];
  const Shape& weight = context.inputs[1]->shape;
  require_weight_rank(context, spatial);
  const DType dtype = contracted_dtype(context);
  check_operands(context, spatial, weight[0], dtype);
  const int64_t groups = checked_groups(context, weight[0], "output channels");
  const SymInt& channels = x.shape[x.shape.size() - static_cast<size_t>(spatial) - 1];
  context.require(may_be_equal(channels, checked_size(context, weight[1], groups)),
                  str("x has ", channels, " channels; weight ", shape_text(weight), " and groups ",
                      groups, " expect ", weight[1] * groups));
  auto windows = unpadded_windows(context, weight, spatial);
  const auto& auto_pad = context.node.attr<std::string>("auto_pad");
  for (const Window& w : windows)
    context.require(auto_pad != "same" || w.stride == 1, "auto_pad same needs stride 1");
  pad_conv(windows, auto_pad, spatial_padding(context, "padding", spatial));
  std::vector<SymInt> extents = spatial_dims(x.shape, spatial);
  for (size_t d = 0; d < extents.size(); ++d) {
    require_fit(context, windows[d], extents[d]);
    extents[d] = windows[d].positions(extents[d]);
  }
  return {{dtype, checked_shape(context, image_shape(x.shape, weight[0], extents))}};
}

std::vector<Value*> compose_conv(Builder& b, const Node& node, int spatial) {
  auto windows = unpadded_windows(node, node.inputs[1]->shape(), spatial);
  pad_conv(windows, node.attr<std::string>("auto_pad"), spatial_padding(node, "padding", spatial));
  Attrs attrs = convolution_attrs(node, windows);
  attrs["out_dtype"] = node.attr<std::string>("out_dtype");
  return {convolve(b, node.inputs[0], node.inputs[1], node.inputs[2], std::move(attrs),
                   node.outputs[0]->shape())};
}

// ---- conv_transposeN d

// The windows over the input with stride - 1 zeros between its elements: every one of its elements
// must meet every kernel element, which takes span - 1 positions of padding, less what `padding`
// trims.
void pad_transpose(std::vector<Window>& windows, const Padding& padding,
                   const std::vector<int64_t>& output_padding) {
  for (size_t d = 0; d < windows.size(); ++d) {
    Window& w = windows[d];
    w.stride = 1;
    w.padding_lo = w.span() - 1 - padding.lo[d];
    w.padding_hi = w.span() - 1 - padding.hi[d] + output_padding[d];
  }
}

SymInt spread(const SymInt& extent, int64_t stride) { return (extent - 1) * stride + 1; }

std::vector<Type> infer_conv_transpose(const InferContext& context, int spatial) {
  const Type& x = *context.inputs[0];
  const Shape& weight = context.inputs[1]->shape;
  require_weight_rank(context, spatial);
  const int64_t groups = checked_groups(context, weight[0], "input channels");
  const SymInt out_channels = checked_size(context, weight[1], groups);
  context.require(context.inputs[1]->dtype == x.dtype, "x and weight must have one dtype");
  check_operands(context, spatial, out_channels, x.dtype);
  const SymInt& channels = x.shape[x.shape.size() - static_cast<size_t>(spatial) - 1];
  context.require(
      may_be_equal(channels, weight[0]),
      str("x has ", channels, " channels, weight ", shape_text(weight), " expects ", weight[0]));
  auto windows = unpadded_windows(context, weight, spatial);
  const auto stride = spatial_ints(context, "stride", spatial, 1);
  const auto output_padding = spatial_ints(context, "output_padding", spatial, 0);
  for (size_t d = 0; d < windows.size(); ++d)
    context.require(output_padding[d] < std::max(stride[d], windows[d].dilation),
                    "output_padding must be smaller than stride or dilation");
  // Ends of their own may also extend the result: what ONNX's output_shape asks for.
  pad_transpose(windows, spatial_padding(context, "padding", spatial, -(int64_t{1} << 31)),
                output_padding);
  std::vector<SymInt> extents = spatial_dims(x.shape, spatial);
  for (size_t d = 0; d < extents.size(); ++d) {
    checked_size(context, extents[d], stride[d]);
    extents[d] = spread(extents[d], stride[d]);
    require_fit(context, windows[d], extents[d]);
    extents[d] = windows[d].positions(extents[d]);
  }
  return {{x.dtype, checked_shape(context, image_shape(x.shape, out_channels, extents))}};
}

// [C, O/g, *kernel] as the weight [O, C/g, *kernel] of the convolution that runs backwards:
// transposed within each group, and flipped.
Value* transposed_weight(Builder& b, Value* weight, int64_t groups, int spatial) {
  const Shape kernel = spatial_dims(weight->shape(), spatial);
  const SymInt in = floordiv(weight->shape()[0], groups), out = weight->shape()[1];
  const auto with_kernel = [&](Shape shape) {
    shape.insert(shape.end(), kernel.begin(), kernel.end());
    return shape;
  };
  if (groups == 1) {
    weight = b.transpose(weight, 0, 1);
  } else {
    weight = b.transpose(b.reshape(weight, with_kernel({groups, in, out})), 1, 2);
    weight = b.reshape(weight, with_kernel({groups * out, in}));
  }
  return b.op("flip", {weight}, {{"dims", ints(dims_from(2, weight->rank()))}});
}

std::vector<Value*> compose_conv_transpose(Builder& b, const Node& node, int spatial) {
  auto windows = unpadded_windows(node, node.inputs[1]->shape(), spatial);
  pad_transpose(windows, spatial_padding(node, "padding", spatial),
                spatial_ints(node, "output_padding", spatial));
  Attrs attrs = convolution_attrs(node, windows);
  attrs["input_dilation"] = ints(spatial_ints(node, "stride", spatial));
  Value* weight = transposed_weight(b, node.inputs[1], node.attr<int64_t>("groups"), spatial);
  return {convolve(b, node.inputs[0], weight, node.inputs[2], std::move(attrs),
                   node.outputs[0]->shape())};
}

AttrDef spatial_attr(std::string name, int64_t value) {
  return {std::move(name), AttrType::ints, ints({value}), {}, true};
}

}  // namespace

OpDef conv_op(int spatial) {
  OpDef op;
  op.name = str("conv", spatial, "d");
  op.kind = OpKind::composite;
  op.operands = {"x", "weight", "bias?"};
  op.attrs = {spatial_attr("stride", 1),
              spatial_attr("padding", 0),
              spatial_attr("dilation", 1),
              {"groups", AttrType::integer, int64_t{1}},
              {"auto_pad", AttrType::text, std::string("none"), {"none", "same", "valid"}},
              out_dtype_attr()};
  op.doc = str(
      "Convolution of x [N, C, ...] with weight [O, C/groups, ...] plus bias [O] over ", spatial,
      " spatial dims; padding may name both ends: beginnings by dim, then ends; auto_pad is "
      "PyTorch's padding='same' or 'valid'; torch.nn.functional.conv",
      spatial, "d");
  op.infer = [spatial](const InferContext& context) { return infer_conv(context, spatial); };
  op.compose = [spatial](Builder& b, const Node& node) { return compose_conv(b, node, spatial); };
  op.takes_f8 = true;
  return op;
}

OpDef conv_transpose_op(int spatial) {
  OpDef op;
  op.name = str("conv_transpose", spatial, "d");
  op.kind = OpKind::composite;
  op.operands = {"x", "weight", "bias?"};
  op.attrs = {spatial_attr("stride", 1),
              spatial_attr("padding", 0),
              spatial_attr("output_padding", 0),
              {"groups", AttrType::integer, int64_t{1}},
              spatial_attr("dilation", 1)};
  op.doc = str(
      "Transposed convolution of x [N, C, ...] with weight [C, O/groups, ...] plus bias [O] over ",
      spatial,
      " spatial dims; padding may name both ends: beginnings by dim, then ends; "
      "torch.nn.functional.conv_transpose",
      spatial, "d");
  op.infer = [spatial](const InferContext& context) {
    return infer_conv_transpose(context, spatial);
  };
  op.compose = [spatial](Builder& b, const Node& node) {
    return compose_conv_transpose(b, node, spatial);
  };
  return op;
}

}  // namespace tcc::ir::ops
