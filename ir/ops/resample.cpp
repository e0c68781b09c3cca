#include <cmath>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_creation.h"
#include "ir/ops/_resample.h"
#include "support/error.h"

namespace tcc::ir::ops::op_resample {
namespace {

bool is_nearest(const Node& node) { return node.attr<std::string>("mode") == "nearest"; }

const std::string& coordinates(const Node& node) {
  return node.attr<std::string>("coordinate_transformation_mode");
}

SymInt nearest(const Position& p, const SymInt& o, const std::string& rounding) {
  const SymInt at = p.at(o);
  if (rounding == "floor") return floordiv(at, p.unit);
  if (rounding == "ceil") return ceildiv(at, p.unit);
  if (rounding == "round_prefer_ceil") return floordiv(2 * at + p.unit, 2 * p.unit);
  return ceildiv(2 * at - p.unit, 2 * p.unit);
}

SymInt clamped(const SymInt& index, const SymInt& extent) {
  return min(max(index, SymInt(0)), extent - 1);
}

// The value at the position whose first `d` entries, `at`, are input positions already, and whose
// others are output positions.
Expr value_at(ElementContext& context, std::vector<SymInt>& at, std::span<const SymInt> index,
              size_t d) {
  if (d == index.size()) return context.operand(0, at);
  const Node& node = context.node();
  const ResampledDim dim = resampled_dim(node, d);
  at[d] = index[d];
  if (!dim.changes()) return value_at(context, at, index, d + 1);
  const Position p = position(dim, coordinates(node));
  if (is_nearest(node)) {
    at[d] = clamped(nearest(p, index[d], node.attr<std::string>("nearest_mode")), dim.in);
    return value_at(context, at, index, d + 1);
  }
  const SymInt position = p.at(index[d]), before = floordiv(position, p.unit);
  at[d] = clamped(before, dim.in);
  const Expr first = value_at(context, at, index, d + 1);
  at[d] = clamped(before + 1, dim.in);
  const Expr second = value_at(context, at, index, d + 1);
  const DType dtype = first->dtype;
  const Expr weight = div(as_number(mod(position, p.unit), dtype), as_number(p.unit, dtype));
  return add(mul(sub(constant(dtype, 1), weight), first), mul(weight, second));
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  std::vector<SymInt> at(index.begin(), index.end());
  const Expr value = value_at(context, at, index, 0);
  if (coordinates(node) != "tf_crop_and_resize") return value;
  std::vector<Expr> conditions;
  for (size_t d = 0; d < index.size(); ++d)
    if (const ResampledDim dim = resampled_dim(node, d); dim.changes())
      conditions.push_back(is_inside(dim, position(dim, coordinates(node)), index[d]));
  const Expr inside = all_of(conditions);
  if (!inside) return value;
  return select(inside, value, constant_of(node.outputs[0]->dtype(), node, "extrapolation_value"));
}

HostTaps host_nearest(const Position& p, int64_t o, const std::string& rounding) {
  // The two candidates, and which of them is nearer: unit is the distance between them.
  const int64_t at = p.at(o).value(), unit = p.unit.value();
  int64_t before = at / unit;
  if (before * unit > at) --before;
  const int64_t past = at - before * unit;
  const bool up = rounding == "ceil"                ? past > 0
                  : rounding == "round_prefer_ceil" ? 2 * past >= unit
                  : rounding == "floor"             ? false
                                                    : 2 * past > unit;
  return {true, {{before + (up ? 1 : 0), 1}}};
}

void reference(EvalContext& context) {
  const Node& node = context.node;
  std::vector<std::vector<HostTaps>> tables;
  for (size_t d = 0; d < context.inputs[0]->shape.size(); ++d)
    tables.push_back(
        host_table(node, d, [&](const ResampledDim&, const Position& p, int64_t o) -> HostTaps {
          if (is_nearest(node)) return host_nearest(p, o, node.attr<std::string>("nearest_mode"));
          const double at =
              static_cast<double>(p.at(o).value()) / static_cast<double>(p.unit.value());
          const double before = std::floor(at);
          const auto first = static_cast<int64_t>(before);
          return {true, {{first, 1 - (at - before)}, {first + 1, at - before}}};
        }));
  resample_reference(context, tables);
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "resample";
  op.operands = {"x"};
  op.attrs = resample_attrs();
  op.attrs.push_back({"mode", AttrType::text, std::string("nearest"), {"nearest", "linear"}});
  op.attrs.push_back({"nearest_mode",
                      AttrType::text,
                      std::string("round_prefer_floor"),
                      {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}});
  op.doc =
      "x resampled to `size`, all dims at once, by the nearest element or linearly between two, "
      "with exact index arithmetic: what resize and interpolate are made of; ONNX's Resize";
  op.infer = [](const InferContext& context) {
    context.require(is_nearest(context.node) || is_float(context.inputs[0]->dtype),
                    "mode linear needs a float tensor");
    require_value_of(context, "extrapolation_value", context.inputs[0]->dtype);
    return infer_resample(context);
  };
  op.element = element;
  op.reference = reference;
  using enum DType;
  const auto text = [](const char* name) { return std::string(name); };
  const auto sample = [&](Type x, std::vector<int64_t> size, const char* mode, const char* at,
                          Attrs more = {}) {
    more["size"] = ints(size);
    more["mode"] = text(mode);
    more["coordinate_transformation_mode"] = text(at);
    return OpSample{{std::move(x)}, std::move(more)};
  };
  op.samples = {
      sample({f32, {2, 3, 4, 5}}, {2, 3, 8, 10}, "nearest", "asymmetric",
             {{"nearest_mode", text("floor")}}),
      sample({f32, {1, 2, 7, 9}}, {1, 2, 3, 13}, "nearest", "half_pixel"),
      sample({f32, {7, 6}}, {4, 11}, "nearest", "align_corners", {{"nearest_mode", text("ceil")}}),
      sample(
          {u8, {5, 5}}, {8, 7}, "nearest", "half_pixel_symmetric",
          {{"scale", std::vector<double>{1.6, 1.5}}, {"nearest_mode", text("round_prefer_ceil")}}),
      sample({f32, {4, 5}}, {3, 6}, "nearest", "tf_crop_and_resize",
             {{"roi", std::vector<double>{0.2, -0.4, 0.8, 0.6}}, {"extrapolation_value", 10.0}}),
      sample({f32, {1, 2, 4, 5}}, {1, 2, 8, 3}, "linear", "half_pixel"),
      sample({f32, {1, 2, 4, 5}}, {1, 2, 9, 1}, "linear", "align_corners"),
      sample({f32, {3, 4, 2}}, {5, 2, 4}, "linear", "pytorch_half_pixel"),
      sample({f32, {4, 4}}, {3, 3}, "linear", "tf_crop_and_resize",
             {{"roi", std::vector<double>{0.4, 0.6, 1.2, 1.7}}, {"extrapolation_value", 10.0}}),
      sample({f32, {1, 1}}, {3, 3}, "linear", "half_pixel"),
      sample({f32, {0, 2, 4}}, {0, 2, 7}, "linear", "asymmetric"),
      sample({f16, {1, 4, 6, 6}}, {1, 4, 12, 12}, "linear", "half_pixel"),
      sample({f64, {5, 6}}, {7, 3}, "linear", "half_pixel_symmetric",
             {{"scale", std::vector<double>{1.5, 0.6}}}),
  };
  return op;
}

}  // namespace tcc::ir::ops::op_resample
