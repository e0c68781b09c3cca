// The spatial dims of a convolution as numbers, for rewritings of it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace tcc::sched {

// One dim of the image and of the windows.
struct ConvDim {
  int64_t image, kernel, stride, before, after, dilation = 1;
  int64_t spread = 1;  // elements of the image are so far apart, with zeros between them
  int64_t places() const {
    return ((image - 1) * spread + before + after - (kernel - 1) * dilation) / stride + 1;
  }
};

// Returns whether all sizes but the batch are numbers, and the image has elements.
bool has_conv_dims(const ir::Node& convolution);
// Returns the dims where that is so, outermost first.
std::vector<ConvDim> conv_dims(const ir::Node& convolution);

}  // namespace tcc::sched
