#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_window.h"
#include "support/error.h"

namespace tcc::ir::ops::op_deform_conv2d {
namespace {

enum Operand : size_t { kX, kOffset, kWeight, kBias, kMask };

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[kX];
  for (size_t k = 0; k < context.inputs.size(); ++k) {
    require_float(context, k);
    context.require(!context.inputs[k] || context.inputs[k]->dtype == x.dtype,
                    "all operands must have one dtype");
  }
  const Shape& weight = context.inputs[kWeight]->shape;
  context.require(x.shape.size() == 4 && weight.size() == 4,
                  "x must be [N, C, H, W] and weight [O, C/groups, kernel]");
  const int64_t groups = context.node.attr<int64_t>("groups");
  context.require(groups >= 1 && may_be_divided(weight[0], groups),
                  str("groups ", groups, " does not divide the ", weight[0], " output channels"));
  context.require(may_be_equal(x.shape[1], checked_size(context, weight[1], groups)),
                  str("x has ", x.shape[1], " channels; weight ", shape_text(weight),
                      " and groups ", groups, " expect ", weight[1] * groups));
  require_shape(context, kBias, {weight[0]}, "[output channels]");
  const auto stride = spatial_ints(context, "stride", 2, 1);
  const auto dilation = spatial_ints(context, "dilation", 2, 1);
  const Padding padding = spatial_padding(context, "padding", 2);
  Shape out = {x.shape[0], weight[0]};
  for (size_t d = 0; d < 2; ++d) {
    const SymInt& kernel = weight[d + 2];
    context.require(kernel.is_const() && kernel.value() >= 1 && kernel.value() < (1 << 20),
                    "the kernel must be of constant, positive size");
    const Window w = {kernel.value(), stride[d], dilation[d], padding.lo[d], padding.hi[d]};
    require_fit(context, w, x.shape[d + 2]);
    out.push_back(w.positions(x.shape[d + 2]));
  }
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* weight = node.inputs[kWeight];
  const Shape& w = weight->shape();
  const Shape& out = node.outputs[0]->shape();
  const SymInt groups = node.attr<int64_t>("groups");
  Attrs attrs = {{"kernel_size", ints({w[2].value(), w[3].value()})}};
  for (const char* key : {"stride", "padding", "dilation"})
    attrs[key] = node.attrs.find(std::string_view(key))->second;
  std::vector<Value*> inputs = {node.inputs[kX], node.inputs[kOffset]};
  if (node.inputs[kMask]) inputs.push_back(node.inputs[kMask]);
  Value* columns = b.op("deform_unfold", inputs, std::move(attrs));
  // One product for each image and group: [O/g, C/g * taps] by [C/g * taps, places].
  const SymInt depth = w[1] * w[2] * w[3], places = out[2] * out[3];
  columns = b.reshape(columns, {out[0], groups, depth, places});
  weight = b.reshape(weight, {groups, floordiv(w[0], groups), depth});
  Value* y = b.reshape(b.matmul(weight, columns), out);
  return {affine(b, y, nullptr, node.inputs[kBias], 1)};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "deform_conv2d";
  op.kind = OpKind::composite;
  op.operands = {"x", "offset", "weight", "bias?", "mask?"};
  op.attrs = {{"stride", AttrType::ints, ints({1}), {}, true},
              {"padding", AttrType::ints, ints({0}), {}, true},
              {"dilation", AttrType::ints, ints({1}), {}, true},
              {"groups", AttrType::integer, int64_t{1}}};
  op.doc =
      "conv2d whose taps are moved by `offset` [N, offset groups * taps * 2, H, W], rows first, "
      "and "
      "scaled by `mask` [N, offset groups * taps, H, W]; torchvision.ops.deform_conv2d, ONNX's "
      "DeformConv";
  op.infer = infer;
  op.compose = compose;
  using enum DType;
  op.samples = {
      {{{f32, {2, 4, 5, 6}}, {f32, {2, 8, 4, 5}}, {f32, {3, 4, 2, 2}}, {f32, {3}}}},
      {{{f32, {1, 4, 5, 6}},
        {f32, {1, 36, 3, 3}},
        {f32, {6, 2, 3, 3}},
        {f32, {6}},
        {f32, {1, 18, 3, 3}}},
       {{"stride", 2}, {"padding", ints({1, 1, 1, 0})}, {"groups", 2}}},
      {{{f16, {1, 8, 4, 4}}, {f16, {1, 8, 3, 3}}, {f16, {8, 8, 2, 2}}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_deform_conv2d
