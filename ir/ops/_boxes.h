// roi_align and roi_pool read boxes of images.
#pragma once

#include <string_view>
#include <vector>

#include "ir/op.h"

namespace tcc::ir::ops {

enum BoxOperand : size_t { kX, kBoxes, kImages };

// Checks x [N, C, H, W], boxes [count, 4] and image_indices [count], and gives the result [count,
// C, output_size]. `verb` says in messages what is done with the elements of x.
std::vector<Type> infer_boxes(const InferContext& context, std::string_view verb);

// The plane of x, counted through images and channels, that element `index` of the result reads.
int64_t plane_of_box(const EvalContext& context, std::span<const int64_t> index);

}  // namespace tcc::ir::ops
