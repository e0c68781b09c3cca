#include <cmath>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_resample.h"
#include "support/error.h"

namespace tcc::ir::ops::op_resize {
namespace {

const std::string& mode(const Node& node) { return node.attr<std::string>("mode"); }

// Returns whether the node has one filter per dim; a linear filter that is not stretched reads only
// the two neighbours.
bool is_filtered(const Node& node) {
  return mode(node) == "cubic" || (mode(node) == "linear" && node.attr<bool>("antialias"));
}

Attrs shared_attrs(const Node& node) {
  Attrs attrs;
  for (const AttrDef& def : resample_attrs()) attrs[def.name] = node.attrs.find(def.name)->second;
  attrs["mode"] = mode(node);
  return attrs;
}

Value* filtered(Builder& b, const Node& node, Value* x) {
  Attrs attrs = shared_attrs(node);
  for (const char* key : {"cubic_coeff_a", "antialias", "exclude_outside"})
    attrs[key] = node.attrs.find(std::string_view(key))->second;
  const auto scale = node.attr<std::vector<double>>("scale"),
             roi = node.attr<std::vector<double>>("roi");
  const Shape& out = node.outputs[0]->shape();
  // The last dim first: its elements lie side by side.
  for (size_t d = out.size(); d-- > 0;) {
    if (!resampled_dim(node, d).changes()) continue;
    Shape size = x->shape();
    size[d] = out[d];
    attrs["size"] = size;
    attrs["dim"] = static_cast<int64_t>(d);
    if (!scale.empty()) {
      std::vector<double> one(out.size(), 1.0);
      one[d] = scale[d];
      attrs["scale"] = one;
    }
    if (!roi.empty()) {
      std::vector<double> whole(out.size(), 0.0);
      whole.resize(2 * out.size(), 1.0);
      whole[d] = roi[d];
      whole[d + out.size()] = roi[d + out.size()];
      attrs["roi"] = whole;
    }
    x = b.op("filter_resample", {x}, attrs);
  }
  return x;
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value* x = node.inputs[0];
  const DType dtype = x->dtype();
  // Weighted sums of integers are rounded to the nearest one.
  const bool rounds = mode(node) != "nearest" && !is_float(dtype);
  if (rounds) x = b.cast(x, DType::f32);
  if (is_filtered(node)) {
    x = filtered(b, node, b.compute(x));  // what one pass leaves to the next is not rounded
  } else {
    Attrs attrs = shared_attrs(node);
    attrs["nearest_mode"] = node.attr<std::string>("nearest_mode");
    x = b.op("resample", {x}, std::move(attrs));
  }
  return {b.cast(rounds ? b.unary("round", x) : x, dtype)};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "resize";
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = resample_attrs();
  op.attrs.push_back(
      {"mode", AttrType::text, std::string("nearest"), {"nearest", "linear", "cubic"}});
  op.attrs.push_back({"nearest_mode",
                      AttrType::text,
                      std::string("round_prefer_floor"),
                      {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}});
  op.attrs.push_back({"cubic_coeff_a", AttrType::number, -0.75});
  op.attrs.push_back({"antialias", AttrType::boolean, false});
  op.attrs.push_back({"exclude_outside", AttrType::boolean, false});
  op.doc =
      "x resampled to `size` in any of its dims; `scale`, output per input positions, is size / "
      "shape of x unless given; roi [starts, ends] counts in all dims; ONNX's Resize";
  op.infer = [](const InferContext& context) {
    const Node& node = context.node;
    context.require(mode(node) != "nearest" || !node.attr<bool>("antialias"),
                    "mode nearest has no antialias");
    context.require(context.inputs[0]->dtype != DType::boolean || mode(node) == "nearest",
                    "bool can only be resized by the nearest element");
    return infer_resample(context);
  };
  op.compose = compose;
  using enum DType;
  const auto sample = [](Type x, std::vector<int64_t> size, const char* mode, Attrs more = {}) {
    more["size"] = ints(size);
    more["mode"] = std::string(mode);
    return OpSample{{std::move(x)}, std::move(more)};
  };
  op.samples = {
      sample({f32, {1, 2, 4, 4}}, {1, 2, 8, 7}, "cubic"),
      sample({f32, {1, 2, 8, 9}}, {1, 2, 3, 4}, "cubic",
             {{"antialias", true}, {"scale", std::vector<double>{1, 1, 0.4, 0.5}}}),
      sample({f32, {6, 5}}, {4, 9}, "linear", {{"antialias", true}, {"exclude_outside", true}}),
      sample({f16, {6, 5}}, {4, 9}, "linear"),
      sample({u8, {6, 5}}, {12, 10}, "nearest"),
      sample({i8, {6, 5}}, {4, 9}, "linear"),
      sample({f32, {4, 4}}, {3, 3}, "cubic",
             {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
              {"roi", std::vector<double>{0.4, 0.6, 0.6, 0.8}}}),
  };
  return op;
}

}  // namespace tcc::ir::ops::op_resize
