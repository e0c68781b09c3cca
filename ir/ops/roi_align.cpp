#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_boxes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_window.h"
#include "support/error.h"

namespace tcc::ir::ops::op_roi_align {
namespace {

bool is_max(const Node& node) { return node.attr<std::string>("mode") == "max"; }

std::vector<Type> infer(const InferContext& context) {
  std::vector<Type> types = infer_boxes(context, "sample");
  const int64_t ratio = context.node.attr<int64_t>("sampling_ratio");
  context.require(ratio >= 0 && ratio <= 4096,
                  str("sampling_ratio ", ratio, " is out of range (0 to 4096)"));
  return types;
}

// ---- one dim of a bin, in expressions of the boxes' compute dtype

Expr number(const Expr& like, double value) { return constant(like->dtype, value); }
Expr size_number(const Expr& like, const SymInt& value) {
  return value.is_const() ? number(like, static_cast<double>(value.value()))
                          : cast(index_value(value), like->dtype);
}
Expr at_least(const Expr& x, double lo) { return call(Fn::maximum, {x, number(x, lo)}); }
Expr at_most(const Expr& x, const Expr& hi) { return call(Fn::minimum, {x, hi}); }
Expr both(const Expr& a, const Expr& b) { return call(Fn::logical_and, {a, b}); }

struct BinSamples {
  Expr count;     // of samples in the bin
  Expr counts;    // sample `axis` is one of them
  Expr inside;    // ... and lies on the image
  Expr left_out;  // samples beside the image that the loop passes over; null for none
  SymInt axis, low, high;
  Expr weight_low, weight_high;
};

// Sampling as often as a bin is long takes at most extent + 3 samples of the image, since samples
// lie no farther apart than its elements, and hardly closer where there are many: a loop of fixed
// length is enough when it begins at the first sample on the image.
BinSamples bin_samples(ElementContext& context, const Expr& low, const Expr& high,
                       const SymInt& bin, int64_t bins, const SymInt& extent) {
  const Node& node = context.node();
  const Expr scale = number(low, number_attr(node, "spatial_scale"));
  const bool aligned = node.attr<bool>("aligned");
  const Expr offset = number(low, aligned ? 0.5 : 0);
  const Expr start = sub(mul(low, scale), offset);
  Expr length = sub(sub(mul(high, scale), offset), start);
  if (!aligned) length = at_least(length, 1);  // no box is smaller than an element
  const Expr size = div(length, number(low, static_cast<double>(bins)));
  const Expr bin_start = add(start, mul(size_number(low, bin), size));
  const int64_t ratio = node.attr<int64_t>("sampling_ratio");

  BinSamples s;
  s.count =
      ratio > 0 ? number(low, static_cast<double>(ratio)) : at_least(call(Fn::ceil, {size}), 0);
  // A box that is not finite has no samples.
  s.count = select(call(Fn::isfinite, {add(bin_start, size)}), s.count, number(low, 0));
  const Expr step = div(size, at_least(s.count, 1));
  s.axis = context.new_axis(ratio > 0 ? SymInt(ratio) : extent + 4);
  Expr k = size_number(low, s.axis);
  if (ratio == 0) {
    const Expr before = div(sub(number(low, -1), bin_start), step);
    const Expr skipped = select(call(Fn::gt, {before, number(low, 1)}),
                                call(Fn::floor, {sub(before, number(low, 1))}), number(low, 0));
    k = add(k, skipped);
    const Expr covered = add(skipped, size_number(low, extent + 4));
    s.left_out = call(Fn::logical_or,
                      {call(Fn::gt, {skipped, number(low, 0)}), call(Fn::gt, {s.count, covered})});
    s.left_out = both(s.left_out, call(Fn::gt, {s.count, number(low, 0)}));
  }
  s.counts = call(Fn::lt, {k, s.count});
  const Expr at = add(bin_start, mul(add(k, number(low, 0.5)), step));
  s.inside =
      both(call(Fn::ge, {at, number(low, -1)}), call(Fn::le, {at, size_number(low, extent)}));
  const Expr last = size_number(low, extent - 1);
  const Expr inner = at_most(at_least(at, 0), last), first = call(Fn::floor, {inner});
  s.low = context.indirect(cast(first, DType::i64), extent);
  s.high = min(s.low + 1, extent - 1);
  s.weight_high = sub(inner, first);
  s.weight_low = sub(number(low, 1), s.weight_high);
  return s;
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const Shape& x = context.operand_type(kX).shape;
  const auto size = spatial_ints(node, "output_size", 2);
  const auto corner = [&](int64_t k) {
    return context.operand(kBoxes, std::vector<SymInt>{index[0], SymInt(k)});
  };
  const SymInt image =
      context.indirect(context.operand(kImages, std::vector<SymInt>{index[0]}), x[0]);
  const BinSamples y = bin_samples(context, corner(1), corner(3), index[2], size[0], x[2]);
  const BinSamples z = bin_samples(context, corner(0), corner(2), index[3], size[1], x[3]);
  const auto weighted = [&](const SymInt& row, const Expr& by_row, const SymInt& column,
                            const Expr& by_column) {
    const Expr value = context.operand(kX, std::vector<SymInt>{image, index[1], row, column});
    return mul(cast(mul(by_row, by_column), value->dtype), value);
  };
  const Expr corners[] = {weighted(y.low, y.weight_low, z.low, z.weight_low),
                          weighted(y.low, y.weight_low, z.high, z.weight_high),
                          weighted(y.high, y.weight_high, z.low, z.weight_low),
                          weighted(y.high, y.weight_high, z.high, z.weight_high)};
  const Fn combine = is_max(node) ? Fn::maximum : Fn::add;
  const Expr value = call(
      combine, {call(combine, {corners[0], corners[1]}), call(combine, {corners[2], corners[3]})});
  const DType dtype = value->dtype;
  const Expr zero = constant(dtype, 0), counts = both(y.counts, z.counts);
  const Expr on_image = select(both(y.inside, z.inside), value, zero);
  if (!is_max(node)) {
    const Expr sum = reduce(ReduceKind::sum, {y.axis, z.axis}, select(counts, on_image, zero));
    return div(sum, cast(at_least(mul(y.count, z.count), 1), dtype));
  }
  const Expr least = constant(dtype, -std::numeric_limits<double>::infinity());
  Expr best = reduce(ReduceKind::max, {y.axis, z.axis}, select(counts, on_image, least));
  if (y.left_out)
    best = select(call(Fn::logical_or, {y.left_out, z.left_out}), call(Fn::maximum, {best, zero}),
                  best);
  const Expr samples = mul(y.count, z.count);
  return select(call(Fn::gt, {samples, number(samples, 0)}), best, zero);
}

// ---- reference

struct HostSample {
  int64_t low, high;
  double weight;  // of high
};
// The samples of one dim of a bin: how many there are, and those on the image. A box may be much
// larger than that.
struct HostBin {
  double count = 0;
  std::vector<HostSample> inside;
};

HostBin host_bin(const Node& node, double low, double high, int64_t bin, int64_t bins,
                 int64_t extent) {
  const bool aligned = node.attr<bool>("aligned");
  const double scale = number_attr(node, "spatial_scale"), offset = aligned ? 0.5 : 0;
  const double start = low * scale - offset;
  double length = high * scale - offset - start;
  if (!aligned) length = std::max(length, 1.0);
  const double size = length / static_cast<double>(bins);
  const double bin_start = start + static_cast<double>(bin) * size;
  if (!std::isfinite(bin_start + size)) return {};
  const int64_t ratio = node.attr<int64_t>("sampling_ratio");
  HostBin result;
  result.count = ratio > 0 ? static_cast<double>(ratio) : std::max(std::ceil(size), 0.0);
  const double step = size / std::max(result.count, 1.0);
  // Adaptive samples lie close enough that few more than `extent` of them are on the image.
  const double skipped = ratio == 0 ? std::max(std::floor((-1 - bin_start) / step) - 2, 0.0) : 0;
  const int64_t looked_at = ratio > 0 ? ratio : extent + 8;
  const auto last = static_cast<double>(extent - 1);
  for (int64_t i = 0; i < looked_at; ++i) {
    const double k = skipped + static_cast<double>(i);
    if (!(k < result.count)) break;
    const double at = bin_start + (k + 0.5) * step;
    if (at < -1 || at > last + 1) continue;
    const double inner = std::clamp(at, 0.0, last);
    const auto first = static_cast<int64_t>(inner);
    result.inside.push_back(
        {first, std::min(first + 1, extent - 1), inner - static_cast<double>(first)});
  }
  return result;
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[kX], &boxes = *context.inputs[kBoxes];
  RefTensor& out = context.outputs[0];
  const int64_t height = x.shape[2], width = x.shape[3];
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const auto box = static_cast<size_t>(4 * index[0]);
    const int64_t plane = plane_of_box(context, index) * height;
    const HostBin rows =
        host_bin(context.node, boxes.f[box + 1], boxes.f[box + 3], index[2], out.shape[2], height);
    const HostBin columns =
        host_bin(context.node, boxes.f[box], boxes.f[box + 2], index[3], out.shape[3], width);
    const double count = rows.count * columns.count;
    const auto inside = static_cast<double>(rows.inside.size() * columns.inside.size());
    // Samples beside the image are 0.
    double sum = 0, best = inside < count ? 0 : -std::numeric_limits<double>::infinity();
    for (const HostSample& y : rows.inside)
      for (const HostSample& z : columns.inside) {
        const auto corner = [&](int64_t row, int64_t column, double weight) {
          return weight * x.f[static_cast<size_t>((plane + row) * width + column)];
        };
        for (const double value : {corner(y.low, z.low, (1 - y.weight) * (1 - z.weight)),
                                   corner(y.low, z.high, (1 - y.weight) * z.weight),
                                   corner(y.high, z.low, y.weight * (1 - z.weight)),
                                   corner(y.high, z.high, y.weight * z.weight)}) {
          sum += value;
          if (value > best || std::isnan(value)) best = value;
        }
      }
    out.f[static_cast<size_t>(offset)] = count == 0 ? 0 : is_max(context.node) ? best : sum / count;
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "roi_align";
  op.operands = {"x", "boxes", "image_indices"};
  // `sampling_ratio` 0: as many samples as a bin is long. `aligned`: elements' centers lie at half
  // numbers, ONNX's half_pixel. Mode max is ONNX's, of the four weighted corners of each sample.
  op.attrs = {{"output_size", AttrType::ints, std::nullopt, {}, true},
              {"spatial_scale", AttrType::number, 1.0},
              {"sampling_ratio", AttrType::integer, int64_t{0}},
              {"aligned", AttrType::boolean, false},
              {"mode", AttrType::text, std::string("avg"), {"avg", "max"}}};
  op.doc =
      "The boxes [count, (x1, y1, x2, y2)] of the images x [N, C, H, W] that image_indices names, "
      "each as output_size bins of bilinear samples; torchvision.ops.roi_align, ONNX's RoiAlign";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  const Type x{DType::f32, {2, 3, 8, 9}}, boxes{DType::f32, {4, 4}}, images{DType::i64, {4}};
  const auto sample = [&](Attrs attrs) {
    attrs["output_size"] = ints({2, 3});
    return OpSample{{x, boxes, images}, std::move(attrs), -3, 12, 0, 2};
  };
  op.samples = {
      sample({{"sampling_ratio", int64_t{2}}}),
      sample({{"aligned", true}}),
      sample({{"spatial_scale", 0.5}, {"mode", "max"}}),
      sample({{"spatial_scale", 4.0}, {"aligned", true}, {"mode", "max"}}),  // far beyond x
      sample({{"spatial_scale", 4.0}}),
      {{{DType::f32, {1, 2, 5, 5}}, {DType::f32, {0, 4}}, {DType::i64, Shape{0}}},
       {{"output_size", 2}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_roi_align
