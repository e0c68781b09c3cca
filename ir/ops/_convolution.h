// The convolution ops share these definitions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/op.h"
#include "ir/ops/_window.h"

namespace tcc::ir::ops {

// The geometry of a `convolution` node: one window per spatial dim over the input that
// input_dilation spread out.
struct ConvolutionGeometry {
  std::vector<Window> windows;
  std::vector<int64_t> input_dilation;
  int64_t groups = 1;

  int rank() const { return static_cast<int>(windows.size()); }
  // The extent of spatial dim `d` with input_dilation - 1 holes between elements.
  SymInt spread(size_t d, const SymInt& extent) const {
    return (extent - 1) * input_dilation[d] + 1;
  }
};
// Reads attributes and kernel sizes; the kernel must be constant.
ConvolutionGeometry convolution_geometry(const InferContext& context);
ConvolutionGeometry convolution_geometry(const Node& node);

// Index map and reference of `convolution`.
Contraction convolution_contraction(const Node& node);
void convolution_reference(EvalContext& context);

// conv1d, conv2d, conv3d and their transposes, without samples.
OpDef conv_op(int spatial);
OpDef conv_transpose_op(int spatial);

}  // namespace tcc::ir::ops
