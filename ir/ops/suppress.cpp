// The sequential part of non-maximum suppression.
#include <algorithm>
#include <vector>

#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_suppress {
namespace {

std::vector<Type> infer(const InferContext& context) {
  const Type &boxes = *context.inputs[0], &valid = *context.inputs[1],
             &threshold = *context.inputs[2];
  require_float(context, 0);
  require_float(context, 2);
  const size_t rank = boxes.shape.size();
  context.require(rank >= 2 && may_be_equal(boxes.shape.back(), 4),
                  str("boxes must be [..., n, 4], not ", shape_text(boxes.shape)));
  context.require(valid.dtype == DType::boolean,
                  str("valid must be bool, not ", name(valid.dtype)));
  const Shape shape(boxes.shape.begin(), boxes.shape.end() - 1);
  require_shape(context, 1, shape, "the boxes'");
  context.require(
      may_be_equal(product(threshold.shape), 1),
      str("iou_threshold must have one element, not the shape ", shape_text(threshold.shape)));
  return {{DType::boolean, shape}};
}

// Two opposite corners, the lower one first in both dims.
struct Box {
  double low[2], high[2];
  // NaN where a coordinate is.
  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

Box box_of(std::span<const double> numbers, bool center) {
  Box box{};
  for (size_t d = 0; d < 2; ++d) {
    const double a = numbers[d], b = numbers[d + 2];
    box.low[d] = center ? a - b / 2 : std::min(a, b);
    box.high[d] = center ? a + b / 2 : std::max(a, b);
    // min and max keep one of a number and NaN.
    if (a != a || b != b) box.low[d] = box.high[d] = a + b;
  }
  return box;
}

// Returns whether intersection over union is above the threshold. It is an f32 for boxes of f32,
// so that 7 of 10 is not above 0.7.
bool overlaps(const Box& a, const Box& b, double threshold, DType dtype) {
  double sides[2];
  for (size_t d = 0; d < 2; ++d) {
    sides[d] = std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]);
    if (!(sides[d] > 0)) return false;
  }
  const double both = sides[0] * sides[1], either = a.area() + b.area() - both;
  if (!(both > 0) || !(a.area() > 0) || !(b.area() > 0) || !(either > 0)) return false;
  const double ratio = both / either;
  return (dtype == DType::f64 ? ratio : static_cast<double>(static_cast<float>(ratio))) > threshold;
}

void reference(EvalContext& context) {
  const RefTensor &boxes = *context.inputs[0], &valid = *context.inputs[1];
  const double threshold = context.inputs[2]->f[0];
  const bool center = context.node.attr<bool>("center");
  std::vector<int64_t>& keep = context.outputs[0].i;
  const int64_t n = valid.shape.back(), groups = n == 0 ? 0 : valid.numel() / n;
  parallel_for(0, groups, 1, [&](int64_t first, int64_t last) {
    for (int64_t group = first; group < last; ++group) {
      std::vector<Box> kept;
      for (int64_t i = group * n; i < (group + 1) * n; ++i) {
        const auto at = static_cast<size_t>(i);
        const Box box = box_of(std::span(boxes.f).subspan(4 * at, 4), center);
        const bool stays = valid.i[at] != 0 && std::ranges::none_of(kept, [&](const Box& other) {
                             return overlaps(other, box, threshold, compute_dtype(boxes.dtype));
                           });
        keep[at] = stays;
        if (stays) kept.push_back(box);
      }
    }
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "suppress";
  op.kind = OpKind::suppress;
  op.operands = {"boxes", "valid", "iou_threshold"};
  op.attrs = {{"center", AttrType::boolean, false}};
  op.doc =
      "Which boxes [..., n, 4], best first, are kept: those that are valid and overlap none that "
      "is "
      "kept before by an intersection over union above the threshold. A box is two opposite "
      "corners, or with `center` x, y, width, height; ONNX NonMaxSuppression without its sorting";
  op.tie_sensitive = true;
  op.infer = infer;
  op.reference = reference;
  using enum DType;
  const Type number{f32, Shape{}};
  op.samples = {{.inputs = {{f32, {3, 70, 4}}, {boolean, {3, 70}}, number}, .lo = 0, .hi = 1},
                {.inputs = {{f32, {2, 3, 33, 4}}, {boolean, {2, 3, 33}}, {f32, {1}}},
                 .attrs = {{"center", true}},
                 .lo = 0,
                 .hi = 1},
                {.inputs = {{f32, {300, 4}}, {boolean, {300}}, number}, .lo = 0, .hi = 1},
                {.inputs = {{f16, {2, 40, 4}}, {boolean, {2, 40}}, {f16, {1}}}, .lo = 0, .hi = 1},
                {.inputs = {{f64, {40, 4}}, {boolean, {40}}, {f64, {1}}}, .lo = 0, .hi = 1},
                {.inputs = {{f32, {4, 1, 4}}, {boolean, {4, 1}}, number}},
                {.inputs = {{f32, {2, 0, 4}}, {boolean, {2, 0}}, number}},
                {.inputs = {{f32, {0, 5, 4}}, {boolean, {0, 5}}, number}}};
  return op;
}

}  // namespace tcc::ir::ops::op_suppress
