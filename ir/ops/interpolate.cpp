#include <cmath>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_resample.h"
#include "support/error.h"

namespace tcc::ir::ops::op_interpolate {
namespace {

const std::string& mode_of(const Node& node) { return node.attr<std::string>("mode"); }

bool is_nearest(const Node& node) { return mode_of(node).starts_with("nearest"); }

// The entry of `size` or `scale_factor` for spatial dim `d`; one entry stands for all.
template <class T>
const T& entry(const std::vector<T>& values, size_t d) {
  return values.size() == 1 ? values[0] : values[d];
}

SymInt out_extent(const Node& node, size_t d) {
  const SymInt& in = node.inputs[0]->shape()[d + 2];
  const auto& size = node.attr<std::vector<SymInt>>("size");
  if (!size.empty()) return entry(size, d);
  const double scale = entry(node.attr<std::vector<double>>("scale_factor"), d);
  // PyTorch rounds in * scale in floating point.
  if (in.is_const())
    return SymInt(static_cast<int64_t>(std::floor(static_cast<double>(in.value()) * scale)));
  const Ratio ratio = to_ratio(scale);
  return floordiv(in * ratio.p, ratio.q);
}

void check_mode(const InferContext& context, size_t spatial) {
  const auto& mode = mode_of(context.node);
  const size_t wanted = mode == "linear"                          ? 1
                        : mode == "bilinear" || mode == "bicubic" ? 2
                        : mode == "trilinear"                     ? 3
                                                                  : spatial;
  context.require(wanted == spatial,
                  str("mode ", mode, " needs ", wanted, " spatial dims, x has ", spatial));
  const bool is_linear = mode.ends_with("linear") || mode == "bicubic";
  if (!is_linear)
    context.require(!context.node.attr<bool>("align_corners"), "align_corners needs a linear mode");
  if (!is_nearest(context.node))
    context.require(is_float(context.inputs[0]->dtype),
                    str("mode ", mode, " needs a float tensor"));
  if (context.node.attr<bool>("antialias"))
    context.require(mode == "bilinear" || mode == "bicubic",
                    "antialias needs mode bilinear or bicubic");
}

std::vector<Type> infer_interpolate(const InferContext& context) {
  const Type& x = *context.inputs[0];
  context.require(x.shape.size() >= 3, "x must be [N, C, ...] with a spatial dim");
  const size_t spatial = x.shape.size() - 2;
  check_mode(context, spatial);
  const auto& size = context.node.attr<std::vector<SymInt>>("size");
  const auto& scale = context.node.attr<std::vector<double>>("scale_factor");
  context.require(size.empty() != scale.empty(),
                  "exactly one of size and scale_factor must be given");
  const size_t entries = size.size() + scale.size();
  context.require(entries == 1 || entries == spatial,
                  str("size or scale_factor must have 1 or ", spatial, " entries, not ", entries));
  for (double factor : scale)
    context.require(factor >= 1e-4 && factor <= 1e4,
                    str("scale_factor ", factor, " is out of range (0.0001 to 10000)"));
  const auto is_valid = [](const SymInt& extent) {
    return !extent.is_const() || (extent.value() >= 1 && extent.value() < (int64_t{1} << 28));
  };
  Shape out = x.shape;
  for (size_t d = 0; d < spatial; ++d) {
    const SymInt& in = x.shape[d + 2];
    context.require(is_valid(in), str("a spatial dim of ", in, " cannot be resampled"));
    out[d + 2] = out_extent(context.node, d);
    context.require(is_valid(out[d + 2]),
                    str("a spatial dim of ", in, " would become ", out[d + 2]));
  }
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

// The mean over the parts that split each dim: what an element of the result covers.
Value* area(Builder& b, Value* x, const Shape& out) {
  return b.op("adaptive_avg_pool", {x}, {{"output_size", Shape(out.begin() + 2, out.end())}});
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* x = node.inputs[0];
  const Shape& out = node.outputs[0]->shape();
  const auto& mode = mode_of(node);
  if (mode == "area") return {area(b, x, out)};
  const bool align = node.attr<bool>("align_corners"), antialias = node.attr<bool>("antialias");
  const auto text = [](const char* value) { return std::string(value); };
  Attrs attrs = {{"size", out},
                 {"coordinate_transformation_mode", text(mode == "nearest" ? "asymmetric"
                                                         : align           ? "align_corners"
                                                                           : "half_pixel")},
                 {"mode", text(is_nearest(node)    ? "nearest"
                               : mode == "bicubic" ? "cubic"
                                                   : "linear")},
                 {"nearest_mode", text(mode == "nearest" ? "floor" : "round_prefer_ceil")},
                 {"antialias", antialias},
                 {"exclude_outside", antialias},
                 // PyTorch took over Pillow's filter together with its way to stretch it.
                 {"cubic_coeff_a", antialias ? -0.5 : -0.75}};
  // A step is 1 / scale_factor, not in / out; aligned corners know no scale.
  const auto& factors = node.attr<std::vector<double>>("scale_factor");
  if (!factors.empty() && !align) {
    std::vector<double> scale = {1, 1};
    for (size_t d = 2; d < out.size(); ++d) scale.push_back(entry(factors, d - 2));
    attrs["scale"] = scale;
  }
  return {b.op("resize", {x}, std::move(attrs))};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "interpolate";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"size", AttrType::ints, ints({}), {}, true},
              {"scale_factor", AttrType::numbers, std::vector<double>{}, {}, true},
              {"mode",
               AttrType::text,
               std::string("nearest"),
               {"nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area"}},
              {"align_corners", AttrType::boolean, false},
              {"antialias", AttrType::boolean, false}};
  op.doc =
      "The spatial dims of x [N, C, ...] resampled to `size` or by `scale_factor` (a step is 1 / "
      "scale_factor), with exact "
      "index arithmetic; torch.nn.functional.interpolate";
  op.infer = infer_interpolate;
  op.compose = compose;
  const auto mode = [](const char* name) { return std::string(name); };
  op.samples = {
      {{{DType::f32, {2, 3, 4, 5}}}, {{"scale_factor", 2.0}}},
      {{{DType::f32, {1, 2, 7, 9}}}, {{"size", ints({3, 13})}}},
      {{{DType::f32, {1, 2, 7, 9}}}, {{"size", ints({4, 11})}, {"mode", mode("nearest-exact")}}},
      {{{DType::f32, {1, 2, 4, 5}}}, {{"scale_factor", 2.0}, {"mode", mode("bilinear")}}},
      {{{DType::f32, {1, 2, 7, 6}}}, {{"size", ints({3, 13})}, {"mode", mode("bilinear")}}},
      {{{DType::f32, {1, 2, 4, 5}}},
       {{"size", ints({9, 1})}, {"mode", mode("bilinear")}, {"align_corners", true}}},
      {{{DType::f32, {2, 2, 5}}}, {{"scale_factor", 1.5}, {"mode", mode("linear")}}},
      {{{DType::f32, {1, 1, 3, 4, 2}}}, {{"size", ints({5, 2, 4})}, {"mode", mode("trilinear")}}},
      {{{DType::f32, {1, 1, 1, 1}}}, {{"size", ints({3})}, {"mode", mode("bilinear")}}},
      {{{DType::f32, {1, 2, 5, 4}}}, {{"scale_factor", 1.7}, {"mode", mode("bicubic")}}},
      {{{DType::f32, {1, 2, 9, 7}}},
       {{"size", ints({4, 9})}, {"mode", mode("bicubic")}, {"antialias", true}}},
      {{{DType::f32, {1, 2, 7, 9}}}, {{"size", ints({3, 5})}, {"mode", mode("area")}}},
      {{{DType::f32, {0, 2, 4, 4}}}, {{"scale_factor", 0.5}}},
      {{{DType::f16, {1, 4, 6, 6}}}, {{"scale_factor", 2.0}, {"mode", mode("bilinear")}}},
      {{{DType::u8, {1, 3, 5, 5}}}, {{"size", ints({8})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_interpolate
