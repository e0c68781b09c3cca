// Reshape, Transpose, Slice, Concat and what else moves elements.
#include <algorithm>
#include <limits>
#include <numeric>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

// 0 keeps a dim (unless allowzero), -1 is what is left.
Results reshape(OpNode& n) {
  Value* x = n.in(0);
  n.ignore("consumed_inputs");
  std::vector<SymInt> target;
  if (n.opset < 5) {
    for (int64_t dim : n.ints_attr("shape")) target.emplace_back(dim);
  } else {
    target = n.dims(1);
  }
  const bool keeps_zero = n.flag("allowzero", false);
  for (size_t d = 0; d < target.size(); ++d) {
    if (!target[d].is(0) || keeps_zero) continue;
    n.require(d < x->shape().size(),
              str("dim ", d, " of the shape is 0, but x has rank ", x->rank()));
    target[d] = x->shape()[d];
  }
  Value* y = n.b.op("reshape", {x}, {{"shape", Shape(target)}});
  // -1 beside a dim that may be 0 has its size here, where the dim cancels out.
  const auto is_number_or_dims = [](const SymInt& size) {
    bool found = true;
    size.visit_atoms([&](const ir::AtomPtr& a) { found &= a->kind == ir::Atom::Kind::symbol; });
    return found;
  };
  if (!std::ranges::all_of(target, &SymInt::is_const) &&
      std::ranges::all_of(y->shape(), is_number_or_dims))
    y->producer->attrs["shape"] = y->shape();
  return {y};
}

Results transpose(OpNode& n) {
  Value* x = n.in(0);
  std::vector<int64_t> order = iota(0, x->rank());
  std::ranges::reverse(order);
  return {n.b.permute(x, n.ints_attr("perm", order))};
}

Results flatten(OpNode& n) {
  Value* x = n.in(0);
  const int64_t axis = n.integer("axis", 1);
  const std::span<const SymInt> dims = x->shape();
  const auto at = axis == x->rank() ? dims.size() : static_cast<size_t>(n.axis(axis, x->rank()));
  return {n.b.reshape(x, {ir::product(dims.first(at)), ir::product(dims.subspan(at))})};
}

Results squeeze(OpNode& n) {
  Value* x = n.in(0);
  const auto axes = axes_attr_or_input(n, 13, 1);
  Shape shape;
  const std::vector<int64_t> dropped = n.axes(axes.value_or(std::vector<int64_t>{}), x->rank());
  for (int64_t d = 0; d < x->rank(); ++d) {
    const SymInt& extent = x->shape()[static_cast<size_t>(d)];
    const bool named = std::ranges::find(dropped, d) != dropped.end();
    n.require(!named || extent.is(1), str("dim ", d, " is ", extent, ", not 1"));
    if (!named && !(!axes && extent.is(1))) shape.push_back(extent);
  }
  return {n.b.reshape(x, shape)};
}

Results unsqueeze(OpNode& n) {
  Value* x = n.in(0);
  const auto axes = axes_attr_or_input(n, 13, 1);
  n.require(axes.has_value(), "axes are missing");
  const int rank = x->rank() + static_cast<int>(axes->size());
  std::vector<int64_t> places = n.axes(*axes, rank);
  std::ranges::sort(places);
  n.require(std::ranges::adjacent_find(places) == places.end(), "an axis is named twice");
  Shape shape = x->shape();
  for (int64_t place : places) shape.insert(shape.begin() + place, 1);
  return {n.b.reshape(x, shape)};
}

Results concat(OpNode& n) {
  const std::vector<Value*> xs = n.all_inputs();
  const int64_t axis = n.opset < 4 ? n.integer("axis", 1) : n.integer("axis");
  return {n.b.op("cat", xs, {{"dim", n.axis(axis, xs[0]->rank())}})};
}

// Sizes of the pieces, or equal ones of which the last may be smaller (opset 18).
Results split(OpNode& n) {
  Value* x = n.in(0);
  const int64_t axis = n.axis(n.integer("axis", 0), x->rank());
  const SymInt& extent = x->shape()[static_cast<size_t>(axis)];
  std::vector<SymInt> sizes;
  if (n.opset >= 13 && n.has_input(1)) {
    sizes = n.dims(1);
  } else if (n.opset < 13 && n.has("split")) {
    for (int64_t size : n.ints_attr("split")) sizes.emplace_back(size);
  }
  const auto pieces =
      static_cast<int64_t>(n.integer("num_outputs", static_cast<int64_t>(n.num_outputs())));
  if (sizes.empty()) {
    n.require(pieces > 0 && pieces == static_cast<int64_t>(n.num_outputs()),
              str(pieces, " pieces, but ", n.num_outputs(), " outputs"));
    const SymInt size = ir::ceildiv(extent, pieces);
    for (int64_t k = 0; k < pieces - 1; ++k) sizes.push_back(size);
    sizes.push_back(extent - size * (pieces - 1));
  }
  n.require(sizes.size() == n.num_outputs(),
            str(sizes.size(), " pieces, but ", n.num_outputs(), " outputs"));
  Results results;
  SymInt at = 0;
  for (const SymInt& size : sizes) {
    n.require(!size.is_const() || size.value() >= 0, str("a piece of ", size, " elements"));
    results.emplace_back(n.b.slice(x, axis, at, at + size));
    at = at + size;
  }
  n.require(!at.is_const() || !extent.is_const() || at == extent,
            str("the pieces make ", at, ", but the dim is ", extent));
  return results;
}

// One dim of a slice, with the clamping of numpy.
Value* slice_dim(OpNode& n, Value* x, int64_t dim, SymInt start, SymInt end, int64_t step) {
  const SymInt& extent = x->shape()[static_cast<size_t>(dim)];
  const auto from_end = [&](const SymInt& at) {
    // An index that is surely negative counts from the end.
    return at.range().hi < 0 ? at + extent : at;
  };
  // Numbers beyond any dim mean "to the end".
  constexpr int64_t kFar = int64_t{1} << 31;
  const auto far = [&](const SymInt& at) { return at.is_const() && at.value() >= kFar - 1; };
  const auto far_back = [&](const SymInt& at) { return at.is_const() && at.value() <= -kFar; };
  if (step > 0) {
    const auto bounded = [&](const SymInt& at) -> SymInt {
      if (far(at)) return extent;
      if (far_back(at)) return 0;
      return ir::max(ir::min(from_end(at), extent), 0);
    };
    start = bounded(start);
    end = ir::max(bounded(end), start);
    return n.b.slice(x, dim, start, end, step);
  }
  // Backwards: elements start, start - s, ... > end. Reversed, they are a slice with a positive
  // step.
  const auto bounded = [&](const SymInt& at) -> SymInt {
    if (far(at)) return extent - 1;
    if (far_back(at)) return -1;
    return ir::max(ir::min(from_end(at), extent - 1), -1);
  };
  start = bounded(start);
  end = bounded(end);
  Value* reversed = n.b.op("flip", {x}, {{"dims", ir::ints({dim})}});
  const SymInt from = extent - 1 - start;
  return n.b.slice(reversed, dim, from, ir::max(extent - 1 - end, from), -step);
}

Results slice(OpNode& n) {
  Value* x = n.in(0);
  std::vector<SymInt> starts, ends;
  std::vector<int64_t> axes, steps;
  if (n.opset < 10) {
    for (int64_t at : n.ints_attr("starts")) starts.emplace_back(at);
    for (int64_t at : n.ints_attr("ends")) ends.emplace_back(at);
    axes = n.ints_attr("axes", iota(0, static_cast<int64_t>(starts.size())));
  } else {
    starts = n.dims(1);
    ends = n.dims(2);
    axes = n.has_input(3) ? n.ints(3) : iota(0, static_cast<int64_t>(starts.size()));
    if (n.has_input(4)) steps = n.ints(4);
  }
  if (steps.empty()) steps = repeated(1, starts.size());
  n.require(
      starts.size() == ends.size() && starts.size() == axes.size() && starts.size() == steps.size(),
      "starts, ends, axes and steps differ in length");
  axes = n.axes(axes, x->rank());
  for (size_t k = 0; k < axes.size(); ++k) {
    n.require(steps[k] != 0 && steps[k] != std::numeric_limits<int64_t>::min(),
              str("a step must not be ", steps[k]));
    x = slice_dim(n, x, axes[k], starts[k], ends[k], steps[k]);
  }
  return {x};
}

// The broadcast of x's shape and the given one, in both directions.
Results expand(OpNode& n) {
  Value* x = n.in(0);
  Shape target = n.dims(1), own = x->shape();
  const size_t rank = std::max(target.size(), own.size());
  target.insert(target.begin(), rank - target.size(), 1);
  own.insert(own.begin(), rank - own.size(), 1);
  for (size_t d = 0; d < rank; ++d)
    if (target[d].is(1)) target[d] = own[d];
  return {n.b.expand(x, target)};
}

Results tile(OpNode& n) {
  Value* x = n.in(0);
  if (n.opset < 6) n.fail("Tile before opset 6 is not supported");
  return {n.b.op("tile", {x}, {{"dims", Shape(n.dims(1))}})};
}

// Begins of all dims, then ends.
Results pad(OpNode& n) {
  Value* x = n.in(0);
  const std::string mode = n.text("mode", "constant");
  std::vector<int64_t> pads =
      n.opset >= 11 ? n.ints(1) : n.ints_attr("pads", n.ints_attr("paddings"));
  std::vector<int64_t> axes = iota(0, x->rank());
  if (n.opset >= 18 && n.has_input(3)) axes = n.axes(n.ints(3), x->rank());
  n.require(pads.size() == 2 * axes.size(),
            str("needs ", 2 * axes.size(), " pads, not ", pads.size()));
  const ir::Attr value = n.opset < 11     ? n.number("value", 0)
                         : n.has_input(2) ? n.scalar_of(2)
                                          : ir::Attr(0.0);
  static const std::pair<std::string_view, std::string_view> modes[] = {{"constant", "constant"},
                                                                        {"reflect", "reflect"},
                                                                        {"edge", "replicate"},
                                                                        {"wrap", "circular"}};
  const auto found =
      std::ranges::find(modes, mode, &std::pair<std::string_view, std::string_view>::first);
  n.require(found != std::end(modes), "mode must be constant, reflect, edge or wrap");
  // PyTorch's order: the last dim first, begin and end side by side.
  std::vector<int64_t> ordered(2 * static_cast<size_t>(x->rank()), 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t place = 2 * static_cast<size_t>(x->rank() - 1 - axes[k]);
    ordered[place] = pads[k];
    ordered[place + 1] = pads[axes.size() + k];
  }
  while (ordered.size() >= 2 && ordered.back() == 0 && ordered[ordered.size() - 2] == 0)
    ordered.resize(ordered.size() - 2);
  if (ordered.empty()) return {x};
  return {
      n.b.op("pad", {x},
             {{"pad", ir::ints(ordered)}, {"mode", std::string(found->second)}, {"value", value}})};
}

Results depth_to_space(OpNode& n) {
  return {n.b.op("depth_to_space", {n.in(0)},
                 {{"block_size", n.integer("blocksize")}, {"mode", n.text("mode", "DCR")}})};
}

// CRD (opset 28) is the inverse of DepthToSpace's, which is PyTorch's.
Results space_to_depth(OpNode& n) {
  const std::string mode = n.text("mode", "DCR");
  n.require(mode == "DCR" || mode == "CRD", "mode must be DCR or CRD");
  const int64_t block = n.integer("blocksize");
  if (mode == "CRD") return {n.b.op("pixel_unshuffle", {n.in(0)}, {{"downscale_factor", block}})};
  return {n.b.op("space_to_depth", {n.in(0)}, {{"block_size", block}})};
}

// The middle of x, or x in the middle of zeros: what is left over goes to the end.
Results center_crop_pad(OpNode& n) {
  Value* x = n.in(0);
  const std::vector<int64_t> axes = n.axes(n.ints_attr("axes", iota(0, x->rank())), x->rank());
  const std::vector<SymInt> target = n.dims(1);
  n.require(target.size() == axes.size(), str(target.size(), " sizes for ", axes.size(), " axes"));
  std::vector<SymInt> pads(2 * static_cast<size_t>(x->rank()), 0);  // the last dim first
  for (size_t k = 0; k < axes.size(); ++k) {
    const SymInt extent = x->shape()[static_cast<size_t>(axes[k])];
    n.require(!target[k].is_const() || target[k].value() >= 0, str("a size of ", target[k]));
    const SymInt kept = ir::min(extent, target[k]);
    const SymInt first = ir::floordiv(extent - kept, 2);
    x = n.b.slice(x, axes[k], first, first + kept);
    const auto place = 2 * static_cast<size_t>(x->rank() - 1 - axes[k]);
    const SymInt missing = target[k] - kept;
    pads[place] = ir::floordiv(missing, 2);
    pads[place + 1] = missing - pads[place];
  }
  return {n.b.op("pad", {x}, {{"pad", pads}})};
}

// Columns back into images, which may have any number of spatial dims.
Results col2im(OpNode& n) {
  const std::vector<int64_t> block = n.ints(2);
  const size_t spatial = block.size();
  const std::vector<int64_t> pads = n.ints_attr("pads", repeated(0, 2 * spatial));
  return {n.b.op("fold", {n.in(0)},
                 {{"output_size", Shape(n.dims(1))},
                  {"kernel_size", ir::ints(block)},
                  {"stride", ir::ints(n.ints_attr("strides", repeated(1, spatial)))},
                  {"padding", ir::ints(pads)},
                  {"dilation", ir::ints(n.ints_attr("dilations", repeated(1, spatial)))}})};
}

constexpr Rule kMovementRules[] = {
    {"CenterCropPad", center_crop_pad},
    {"Col2Im", col2im},
    {"Concat", concat},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Pad", pad},
    {"Reshape", reshape},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const Rule> movement_rules() { return kMovementRules; }

}  // namespace tcc::onnx
