#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_boxes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_window.h"
#include "support/error.h"

namespace tcc::ir::ops::op_roi_pool {
namespace {

constexpr double kFar = 1 << 30;  // beyond every image, and far from the ends of i64

// The nearest whole number, halves away from zero; 0 for none.
Expr rounded(const Expr& x) {
  const auto number = [&](double value) { return constant(x->dtype, value); };
  const Expr size = call(Fn::minimum, {call(Fn::abs, {x}), number(kFar)});
  const Expr whole = call(Fn::copysign, {call(Fn::floor, {add(size, number(0.5))}), x});
  return cast(select(call(Fn::isnan, {x}), number(0), whole), DType::i64);
}

// Returns whether `position` lies in bin `bin` of `bins` that a box from `low` to `high`, both
// included, is split into. In whole numbers, so that no rounding moves a bin's end.
Expr in_bin(const Node& node, const Expr& low, const Expr& high, const SymInt& bin, int64_t bins,
            const SymInt& position) {
  const auto whole = [](int64_t value) { return constant_int(DType::i64, value); };
  const Expr scale = constant(low->dtype, number_attr(node, "spatial_scale"));
  const Expr first = rounded(mul(low, scale));
  const Expr length =
      call(Fn::maximum, {add(sub(rounded(mul(high, scale)), first), whole(1)), whole(1)});
  const Expr start = call(Fn::floordiv, {mul(index_value(bin), length), whole(bins)});
  const Expr beyond = mul(index_value(bin + 1), length);
  const Expr end = call(Fn::floordiv, {add(beyond, whole(bins - 1)), whole(bins)});
  const Expr at = sub(index_value(position), first);
  return call(Fn::logical_and, {call(Fn::ge, {at, start}), call(Fn::lt, {at, end})});
}

// The places of the bins are data, so that every element of the image is read for each bin.
Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const Shape& x = context.operand_type(kX).shape;
  const auto size = spatial_ints(node, "output_size", 2);
  const auto corner = [&](int64_t k) {
    return context.operand(kBoxes, std::vector<SymInt>{index[0], SymInt(k)});
  };
  const SymInt image =
      context.indirect(context.operand(kImages, std::vector<SymInt>{index[0]}), x[0]);
  const SymInt row = context.new_axis(x[2]), column = context.new_axis(x[3]);
  const Expr inside =
      call(Fn::logical_and, {in_bin(node, corner(1), corner(3), index[2], size[0], row),
                             in_bin(node, corner(0), corner(2), index[3], size[1], column)});
  const Expr value = context.operand(kX, std::vector<SymInt>{image, index[1], row, column});
  const Expr least = constant(value->dtype, -std::numeric_limits<double>::infinity());
  const Expr best = reduce(ReduceKind::max, {row, column}, select(inside, value, least));
  const Expr found = reduce(ReduceKind::any, {row, column}, inside);
  return select(found, best, constant(value->dtype, 0));
}

int64_t host_rounded(double x) {
  return std::isnan(x) ? 0 : static_cast<int64_t>(std::round(std::clamp(x, -kFar, kFar)));
}

// The positions of a bin on the image: [first, second).
std::pair<int64_t, int64_t> host_bin(const Node& node, double low, double high, int64_t bin,
                                     int64_t bins, int64_t extent) {
  const double scale = number_attr(node, "spatial_scale");
  const auto first = host_rounded(low * scale);
  const auto last = host_rounded(high * scale);
  const int64_t length = std::max<int64_t>(last - first + 1, 1);
  const int64_t start = first + bin * length / bins;
  const int64_t end = first + ((bin + 1) * length + bins - 1) / bins;
  return {std::clamp<int64_t>(start, 0, extent), std::clamp<int64_t>(end, 0, extent)};
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[kX], &boxes = *context.inputs[kBoxes];
  RefTensor& out = context.outputs[0];
  const int64_t height = x.shape[2], width = x.shape[3];
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const auto box = static_cast<size_t>(4 * index[0]);
    const int64_t plane = plane_of_box(context, index);
    const auto rows =
        host_bin(context.node, boxes.f[box + 1], boxes.f[box + 3], index[2], out.shape[2], height);
    const auto columns =
        host_bin(context.node, boxes.f[box], boxes.f[box + 2], index[3], out.shape[3], width);
    double best = -std::numeric_limits<double>::infinity();
    for (int64_t row = rows.first; row < rows.second; ++row)
      for (int64_t column = columns.first; column < columns.second; ++column) {
        const double value = x.f[static_cast<size_t>((plane * height + row) * width + column)];
        if (value > best || std::isnan(value)) best = value;
      }
    const bool empty = rows.first >= rows.second || columns.first >= columns.second;
    out.f[static_cast<size_t>(offset)] = empty ? 0 : best;
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "roi_pool";
  op.operands = {"x", "boxes", "image_indices"};
  op.attrs = {{"output_size", AttrType::ints, std::nullopt, {}, true},
              {"spatial_scale", AttrType::number, 1.0}};
  op.doc =
      "The maxima of output_size bins of the boxes [count, (x1, y1, x2, y2)], rounded to elements, "
      "of the images x [N, C, H, W] that image_indices names; 0 for an empty bin; "
      "torchvision.ops.roi_pool, ONNX's MaxRoiPool";
  op.infer = [](const InferContext& context) { return infer_boxes(context, "pool"); };
  op.element = element;
  op.reference = reference;
  const Type x{DType::f32, {2, 3, 8, 9}}, boxes{DType::f32, {4, 4}}, images{DType::i64, {4}};
  op.samples = {
      {{x, boxes, images}, {{"output_size", ints({2, 3})}}, -3, 12, 0, 2},
      {{x, boxes, images}, {{"output_size", 3}, {"spatial_scale", 0.5}}, -3, 12, 0, 2},
      {{{DType::f16, {1, 2, 5, 5}}, {DType::f16, {3, 4}}, {DType::i32, {3}}},
       {{"output_size", 2}},
       0,
       5,
       0,
       1},
      {{{DType::f32, {1, 2, 5, 5}}, {DType::f32, {0, 4}}, {DType::i64, Shape{0}}},
       {{"output_size", 2}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_roi_pool
