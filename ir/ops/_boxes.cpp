#include "ir/ops/_boxes.h"

#include <algorithm>

#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_window.h"
#include "support/error.h"

namespace tcc::ir::ops {

std::vector<Type> infer_boxes(const InferContext& context, std::string_view verb) {
  require_float(context, kX);
  require_float(context, kBoxes);
  const Type &x = *context.inputs[kX], &boxes = *context.inputs[kBoxes],
             &images = *context.inputs[kImages];
  context.require(x.shape.size() == 4, "x must be [N, C, H, W]");
  context.require(boxes.shape.size() == 2 && boxes.shape[1].is(4),
                  str("boxes must be [count, 4], not ", shape_text(boxes.shape)));
  context.require(images.dtype == DType::i64 || images.dtype == DType::i32,
                  "image_indices must be i32 or i64");
  require_shape(context, kImages, {boxes.shape[0]}, "[count]");
  for (const SymInt& extent : {x.shape[0], x.shape[2], x.shape[3]})
    context.require(!extent.is(0) || boxes.shape[0].is(0), str("x has no elements to ", verb));
  const auto size = spatial_ints(context, "output_size", 2, 1);
  return {{x.dtype, checked_shape(context, {boxes.shape[0], x.shape[1], size[0], size[1]})}};
}

int64_t plane_of_box(const EvalContext& context, std::span<const int64_t> index) {
  const RefTensor& x = *context.inputs[kX];
  int64_t image = context.inputs[kImages]->i[static_cast<size_t>(index[0])];
  image = std::clamp<int64_t>(image < 0 ? image + x.shape[0] : image, 0, x.shape[0] - 1);
  return image * x.shape[1] + index[1];
}

}  // namespace tcc::ir::ops
