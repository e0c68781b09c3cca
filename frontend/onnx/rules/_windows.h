// The attributes that convolutions and poolings share: kernel_shape, strides, dilations, pads and
// auto_pad.
#pragma once

#include "frontend/onnx/op_node.h"

namespace tcc::onnx {

struct Windows {
  std::vector<int64_t> kernel, stride, dilation;
  std::vector<int64_t> begin, end;  // padding per spatial dim
  // The op attribute `padding`: one entry per dim where both sides are alike and at most half a
  // window (PyTorch's form), else begins and ends.
  ir::Attr padding() const;
};

// The spatial dims of a weight [O, I, ...], which must be numbers.
std::vector<int64_t> kernel_of(OpNode& n, const Value* weight);

// Reads the window attributes of a node for an image x [N, C, ...]. `kernel` is the window that
// follows from the weight; where it is empty, the node must have the attribute kernel_shape.
Windows windows_of(OpNode& n, const Value* x, std::vector<int64_t> kernel, bool ceil_mode = false);

// "conv" -> "conv2d"; fails beyond the three spatial dims that there are ops for.
std::string by_rank(OpNode& n, std::string_view op, size_t spatial);

// convNd of x and weight, with the node's attributes. `bias` may be null.
Value* convolved(OpNode& n, Value* x, Value* weight, Value* bias);

// The op's attributes for these windows, with ceil_mode.
ir::Attrs window_attrs(OpNode& n, const Windows& w);
// avg_poolNd of x, with the node's attributes.
Value* average_pooled(OpNode& n, Value* x);

}  // namespace tcc::onnx
