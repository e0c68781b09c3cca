// Conv, ConvTranspose and DeformConv.
#include <algorithm>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "frontend/onnx/rules/_windows.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

Results conv(OpNode& n) { return {convolved(n, n.in(0), n.in(1), n.maybe(2))}; }

// com.microsoft: a fourth operand is added before the activation.
Results fused_conv(OpNode& n) {
  Value* y = convolved(n, n.in(0), n.in(1), n.maybe(2));
  if (Value* z = n.maybe(3)) y = n.b.add(y, z);
  return {fused_activation(n, y, n.text("activation", ""), n.numbers_attr("activation_params"))};
}

// output = (input - 1) * stride + output_padding + (kernel - 1) * dilation + 1 - begin - end. Where
// output_shape or auto_pad says what the output is, the pads follow.
Results conv_transpose(OpNode& n) {
  Value *x = n.in(0), *weight = n.in(1), *bias = n.maybe(2);
  const std::string auto_pad = n.text("auto_pad", "NOTSET");
  Windows w;
  w.kernel = kernel_of(n, weight);
  const size_t spatial = w.kernel.size();
  const std::string op = by_rank(n, "conv_transpose", spatial);
  n.require(n.ints_attr("kernel_shape", w.kernel) == w.kernel,
            "kernel_shape differs from the weight's");
  w.stride = n.ints_attr("strides", repeated(1, spatial));
  w.dilation = n.ints_attr("dilations", repeated(1, spatial));
  n.require(x->rank() == weight->rank(),
            str("x ", ir::to_string(x->type), " does not fit the weight's spatial dims"));
  const std::vector<int64_t> extra = n.ints_attr("output_padding", repeated(0, spatial));
  const std::vector<int64_t> pads = n.ints_attr("pads", repeated(0, 2 * spatial));
  std::vector<int64_t> wanted = n.ints_attr("output_shape");
  if (wanted.size() == spatial + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  n.require(w.stride.size() == spatial && w.dilation.size() == spatial && extra.size() == spatial &&
                pads.size() == 2 * spatial && (wanted.empty() || wanted.size() == spatial),
            "an attribute's length does not fit the spatial dims");
  for (size_t d = 0; d < spatial; ++d) {
    w.begin.push_back(pads[d]);
    w.end.push_back(pads[d + spatial]);
    const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    if (auto_pad == "VALID") w.begin[d] = w.end[d] = 0;
    if (wanted.empty() && !same) continue;
    const SymInt& in = x->shape()[d + 2];
    n.require(in.is_const(), str("output_shape and auto_pad need the size of spatial dim ", d,
                                 "; bind it (", n.dim_option(), ")"));
    // In checked arithmetic, as everything on dims.
    const SymInt full =
        (in - 1) * w.stride[d] + extra[d] + SymInt(w.kernel[d] - 1) * w.dilation[d] + 1;
    const SymInt out = wanted.empty() ? in * w.stride[d] : wanted[d];
    const int64_t total = (full - out).value();
    // A larger output than there is grows at its end.
    w.begin[d] = total < 0 ? 0 : auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.end[d] = total - w.begin[d];
  }
  return {n.b.op(op, {x, weight, bias},
                 {{"stride", ir::ints(w.stride)},
                  {"padding", w.padding()},
                  {"output_padding", ir::ints(extra)},
                  {"dilation", ir::ints(w.dilation)},
                  {"groups", n.integer("group", 1)}})};
}

// (x, weight, offset, bias, mask); the offset's shape says how many offset groups there are.
Results deform_conv(OpNode& n) {
  Value *x = n.in(0), *weight = n.in(1), *offset = n.in(2), *bias = n.maybe(3), *mask = n.maybe(4);
  const Windows w = windows_of(n, x, kernel_of(n, weight));
  n.require(w.kernel.size() == 2, str(w.kernel.size(), " spatial dims; 2 are supported"));
  const int64_t groups = n.integer("offset_group", 1);
  const SymInt rows = offset->rank() > 1 ? offset->shape()[1] : SymInt(0);
  n.require(groups > 0 && rows == SymInt(groups) * (2 * w.kernel[0] * w.kernel[1]),
            "the offset must be [N, offset_group * kernel elements * 2, H, W]");
  return {n.b.op("deform_conv2d", {x, offset, weight, bias, mask},
                 {{"stride", ir::ints(w.stride)},
                  {"padding", w.padding()},
                  {"dilation", ir::ints(w.dilation)},
                  {"groups", n.integer("group", 1)}})};
}

constexpr Rule kConvolutionRules[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"DeformConv", deform_conv},
    {"FusedConv", fused_conv, "com.microsoft"},
};

}  // namespace

std::span<const Rule> convolution_rules() { return kConvolutionRules; }

}  // namespace tcc::onnx
