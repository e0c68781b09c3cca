// Resize, Upsample, GridSample, AffineGrid, RoiAlign, LRN.
#include <algorithm>
#include <cmath>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

std::vector<double> numbers(OpNode& n, size_t k) {
  const TensorPtr tensor = n.tensor(k);
  std::vector<double> values;
  for (int64_t i = 0; i < tensor->numel(); ++i) values.push_back(tensor->get(i));
  return values;
}

bool is_given(OpNode& n, size_t k) {
  if (!n.has_input(k)) return false;
  const Value* value = n.in(k);
  return !(value->rank() == 1 && value->shape()[0].is(0));  // empty means omitted
}

// Fills in `scale` and `size` over all dims from those of `axes`.
template <class T>
std::vector<T> spread(const std::vector<int64_t>& axes, const std::vector<T>& values,
                      std::vector<T> all) {
  for (size_t k = 0; k < axes.size(); ++k) all[static_cast<size_t>(axes[k])] = values[k];
  return all;
}

// A size that was computed in floating point.
int64_t whole(OpNode& n, double size) {
  n.require(size >= 0 && size < 0x1p53, str("a size of ", size));
  return static_cast<int64_t>(size);
}

Shape scaled(OpNode& n, const Value* x, const std::vector<double>& scale) {
  Shape size;
  for (size_t d = 0; d < scale.size(); ++d) {
    const SymInt& in = x->shape()[d];
    const double factor = scale[d];
    if (factor == 1) {
      size.push_back(in);
    } else if (in.is_const()) {
      size.emplace_back(whole(n, std::floor(static_cast<double>(in.value()) * factor)));
    } else {
      n.require(factor == std::floor(factor) && factor >= 1,
                str("a scale of ", factor, " needs the size of dim ", d, "; bind it (",
                    n.dim_option(), ")"));
      size.push_back(in * whole(n, factor));
    }
  }
  return size;
}

// One scale for all resized dims: the size that fits into, or around, the one that is wanted.
void keep_aspect_ratio(OpNode& n, const Value* x, const std::vector<int64_t>& axes,
                       const std::string& policy, Shape& size, std::vector<double>& scale) {
  if (policy == "stretch") return;
  n.require(policy == "not_larger" || policy == "not_smaller",
            "keep_aspect_ratio_policy must be stretch, not_larger or not_smaller");
  double factor = policy == "not_larger" ? HUGE_VAL : 0;
  for (int64_t axis : axes) {
    const auto d = static_cast<size_t>(axis);
    n.require(x->shape()[d].is_const() && size[d].is_const(),
              str("keep_aspect_ratio_policy needs sizes that are numbers (", n.dim_option(), ")"));
    const double own =
        static_cast<double>(size[d].value()) / static_cast<double>(x->shape()[d].value());
    factor = policy == "not_larger" ? std::min(factor, own) : std::max(factor, own);
  }
  for (int64_t axis : axes) {
    const auto d = static_cast<size_t>(axis);
    scale[d] = factor;
    size[d] = whole(n, std::floor(factor * static_cast<double>(x->shape()[d].value()) + 0.5));
  }
}

// Opset 10: (x, scales). From 11 on: (x, roi, scales, sizes).
Results resize(OpNode& n) {
  Value* x = n.in(0);
  const auto rank = static_cast<size_t>(x->rank());
  const std::vector<int64_t> axes = n.axes(n.ints_attr("axes", iota(0, x->rank())), x->rank());
  const size_t scales_at = n.opset < 11 ? 1 : 2;
  std::vector<double> scale(rank, 1);
  Shape size = x->shape();
  ir::Attrs attrs;
  if (is_given(n, scales_at)) {
    const std::vector<double> given = numbers(n, scales_at);
    n.require(given.size() == axes.size(), str(given.size(), " scales for ", axes.size(), " dims"));
    for (double factor : given) n.require(factor > 0, str("a scale of ", factor));
    scale = spread(axes, given, scale);
    size = scaled(n, x, scale);
    attrs["scale"] = scale;
  } else {
    n.require(is_given(n, 3), "needs scales or sizes");
    const std::vector<SymInt> given = n.dims(3);
    n.require(given.size() == axes.size(), str(given.size(), " sizes for ", axes.size(), " dims"));
    size = spread(axes, given, size);
    const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
    keep_aspect_ratio(n, x, axes, policy, size, scale);
    if (policy != "stretch") attrs["scale"] = scale;
  }
  if (n.has("keep_aspect_ratio_policy")) n.ignore("keep_aspect_ratio_policy");
  std::string coordinates =
      n.text("coordinate_transformation_mode", n.opset < 11 ? "asymmetric" : "half_pixel");
  if (n.opset < 13 && coordinates == "tf_half_pixel_for_nn") {
    // (position + 0.5) * step, that is, half_pixel's plus a half: rounding it is another rounding
    // of half_pixel's.
    const std::string own = n.text("nearest_mode", "round_prefer_floor");
    n.require(
        n.text("mode", "nearest") == "nearest" && (own == "round_prefer_floor" || own == "floor"),
        "tf_half_pixel_for_nn is for nearest, rounded down");
    coordinates = "half_pixel";
    attrs["nearest_mode"] = std::string(own == "floor" ? "round_prefer_ceil" : "ceil");
  }
  attrs["coordinate_transformation_mode"] = coordinates;
  // Before opset 19 the text knows one length of the result, a whole number, as PyTorch and ONNX
  // Runtime do; from then on aligned corners take in * scale, as in the cases of ONNX itself.
  if (coordinates == "align_corners" && n.opset < 19) attrs.erase("scale");
  if (coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = numbers(n, 1);
    n.require(roi.size() == 2 * axes.size(), str(roi.size(), " entries of roi"));
    const auto half = roi.begin() + static_cast<std::ptrdiff_t>(axes.size());
    std::vector<double> all = spread(axes, {roi.begin(), half}, std::vector<double>(rank, 0));
    const std::vector<double> ends = spread(axes, {half, roi.end()}, std::vector<double>(rank, 1));
    all.insert(all.end(), ends.begin(), ends.end());
    attrs["roi"] = all;
  } else if (n.opset >= 11) {
    n.maybe(1);
  }
  if (n.opset >= 11 && n.has_input(2)) n.maybe(2);
  attrs["size"] = size;
  attrs["mode"] = n.text("mode", "nearest");
  const std::string nearest = n.text("nearest_mode", n.opset < 11 ? "floor" : "round_prefer_floor");
  attrs.try_emplace("nearest_mode", nearest);
  attrs["cubic_coeff_a"] = n.number("cubic_coeff_a", -0.75);
  attrs["exclude_outside"] = n.flag("exclude_outside", false);
  attrs["extrapolation_value"] = n.number("extrapolation_value", 0);
  attrs["antialias"] = n.flag("antialias", false);
  return {n.b.op("resize", {x}, attrs)};
}

// The older Resize: floor of the scaled position.
Results upsample(OpNode& n) {
  Value* x = n.in(0);
  std::vector<double> scale;
  if (n.opset >= 9) {
    scale = numbers(n, 1);
  } else if (n.opset >= 7) {
    scale = n.numbers_attr("scales");
  } else {
    scale = {1, 1, n.number("height_scale", 1), n.number("width_scale", 1)};
  }
  n.require(scale.size() == static_cast<size_t>(x->rank()),
            str(scale.size(), " scales for ", x->rank(), " dims"));
  const std::string mode = n.text("mode", "nearest");
  return {n.b.op("resize", {x},
                 {{"size", scaled(n, x, scale)},
                  {"scale", scale},
                  {"mode", mode == "bilinear" ? std::string("linear") : mode},
                  {"nearest_mode", std::string("floor")},
                  {"coordinate_transformation_mode", std::string("asymmetric")}})};
}

// Modes are called bilinear and bicubic before opset 20, linear and cubic from then on.
Results grid_sample(OpNode& n) {
  std::string mode = n.text("mode", n.opset < 20 ? "bilinear" : "linear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  return {n.b.op("grid_sample", {n.in(0), n.in(1)},
                 {{"mode", mode},
                  {"padding_mode", n.text("padding_mode", "zeros")},
                  {"align_corners", n.flag("align_corners", false)},
                  {"clip_position", false}})};
}

Results affine_grid(OpNode& n) {
  return {n.b.op("affine_grid", {n.in(0)},
                 {{"size", Shape(n.dims(1))}, {"align_corners", n.flag("align_corners", false)}})};
}

Results roi_align(OpNode& n) {
  const std::string mode =
      n.text("coordinate_transformation_mode", n.opset < 16 ? "output_half_pixel" : "half_pixel");
  n.require(mode == "half_pixel" || mode == "output_half_pixel",
            "coordinate_transformation_mode must be half_pixel or output_half_pixel");
  return {n.b.op(
      "roi_align", {n.in(0), n.in(1), n.in(2)},
      {{"output_size", ir::ints({n.integer("output_height", 1), n.integer("output_width", 1)})},
       {"spatial_scale", n.number("spatial_scale", 1)},
       {"sampling_ratio", n.integer("sampling_ratio", 0)},
       {"aligned", mode == "half_pixel"},
       {"mode", n.text("mode", "avg")}})};
}

// rois [count, 5]: the image's number, then the corners.
Results max_roi_pool(OpNode& n) {
  Value *x = n.in(0), *rois = n.in(1);
  n.require(rois->rank() == 2 && rois->shape()[1].is(5), "rois must be [count, 5]");
  const std::vector<int64_t> size = n.ints_attr("pooled_shape");
  n.require(size.size() == 2, "pooled_shape must be (height, width)");
  Value* images = n.b.cast(n.b.reshape(n.b.slice(rois, 1, 0, 1), {rois->shape()[0]}), DType::i64);
  return {
      n.b.op("roi_pool", {x, n.b.slice(rois, 1, 1, 5), images},
             {{"output_size", ir::ints(size)}, {"spatial_scale", n.number("spatial_scale", 1)}})};
}

Results lrn(OpNode& n) {
  return {n.b.op("local_response_norm", {n.in(0)},
                 {{"size", n.integer("size")},
                  {"alpha", n.number("alpha", 1e-4)},
                  {"beta", n.number("beta", 0.75)},
                  {"k", n.number("bias", 1)},
                  {"longer_end", std::string("after")}})};
}

Results det(OpNode& n) { return {n.b.op("det", {n.in(0)})}; }

constexpr Rule kResamplingRules[] = {
    {"AffineGrid", affine_grid},  {"Det", det},
    {"GridSample", grid_sample},  {"LRN", lrn},
    {"MaxRoiPool", max_roi_pool}, {"Resize", resize},
    {"RoiAlign", roi_align},      {"Upsample", upsample},
};

}  // namespace

std::span<const Rule> resampling_rules() { return kResamplingRules; }

}  // namespace tcc::onnx
