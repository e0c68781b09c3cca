#include <algorithm>
#include <cmath>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_grid_sample {
namespace {

const std::string& mode_of(const Node& node) { return node.attr<std::string>("mode"); }
const std::string& padding_of(const Node& node) { return node.attr<std::string>("padding_mode"); }
bool aligns(const Node& node) { return node.attr<bool>("align_corners"); }

std::vector<Type> infer(const InferContext& context) {
  require_float(context, 0);
  require_float(context, 1);
  const Type& x = *context.inputs[0];
  const Shape& grid = context.inputs[1]->shape;
  const size_t rank = x.shape.size();
  context.require(rank >= 3 && rank <= 5, "x must be [N, C, ...] with 1 to 3 spatial dims");
  context.require(
      grid.size() == rank && grid.back().is(static_cast<int64_t>(rank) - 2),
      str("grid must be [N, ..., ", rank - 2, "] with ", rank, " dims, not ", shape_text(grid)));
  context.require(may_be_equal({x.shape[0]}, {grid[0]}),
                  str("x has ", x.shape[0], " images, grid ", grid[0]));
  for (size_t d = 2; d < rank; ++d)
    context.require(!x.shape[d].is(0), "x has an empty spatial dim");
  Shape out = {x.shape[0], x.shape[1]};
  out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

// ---- one dim, in expressions of the grid's compute dtype

Expr number(const Expr& like, double value) { return constant(like->dtype, value); }
Expr size_number(const Expr& like, const SymInt& value) {
  return value.is_const() ? number(like, static_cast<double>(value.value()))
                          : cast(index_value(value), like->dtype);
}
Expr clipped(const Expr& x, const Expr& lo, const Expr& hi) {
  return call(Fn::minimum, {call(Fn::maximum, {x, lo}), hi});
}

// From [-1, 1] to elements.
Expr position(const Node& node, const Expr& g, const SymInt& extent) {
  const Expr one = number(g, 1), half = number(g, 0.5);
  const Expr shifted = add(g, one);
  const Expr at = aligns(node) ? mul(mul(shifted, half), size_number(g, extent - 1))
                               : mul(sub(mul(shifted, size_number(g, extent)), one), half);
  // No number lies outside.
  return select(call(Fn::isnan, {at}), number(g, -1), at);
}

// Mirrored at the outer elements' centers or, without align_corners, edges: a triangle wave, which
// has no jump that rounding could fall over.
Expr reflected(const Node& node, const Expr& at, const SymInt& extent) {
  if (aligns(node) && extent.is(1)) return number(at, 0);
  const Expr lo = number(at, aligns(node) ? 0 : -0.5);
  const Expr span = size_number(at, aligns(node) ? max(extent - 1, SymInt(1)) : extent);
  const Expr period = mul(span, number(at, 2)), from_lo = sub(at, lo);
  const Expr laps = call(Fn::floor, {div(from_lo, period)});
  const Expr within = sub(from_lo, mul(laps, period));
  return add(sub(span, call(Fn::abs, {sub(within, span)})), lo);
}

Expr padded(const Node& node, const Expr& at, const SymInt& extent) {
  if (padding_of(node) == "zeros") return at;
  // Infinity has no mirror image in the tensor: the nearest end replaces it.
  const Expr inner = padding_of(node) == "reflection"
                         ? select(call(Fn::isfinite, {at}), reflected(node, at, extent), at)
                         : at;
  return clipped(inner, number(at, 0), size_number(at, extent - 1));
}

struct GridTap {
  SymInt index;
  Expr inside;  // null for always
  Expr weight;  // null for 1
};

// ONNX moves a cubic's position to the border, too, once it lies beyond x.
Expr bordered(const Node& node, const Expr& at, const SymInt& extent) {
  if (padding_of(node) != "border" || !node.attr<bool>("clip_position")) return at;
  const Expr zero = number(at, 0), last = size_number(at, extent - 1);
  const Expr margin = number(at, aligns(node) ? 0 : 0.5);
  const Expr beyond = call(Fn::logical_or, {call(Fn::lt, {at, sub(zero, margin)}),
                                            call(Fn::gt, {at, add(last, margin)})});
  return select(beyond, clipped(at, zero, last), at);
}

// The element at the whole number `at`.
GridTap tap_at(ElementContext& context, const Node& node, const Expr& at, const Expr& weight,
               const SymInt& extent) {
  const Expr zero = number(at, 0), last = size_number(at, extent - 1);
  Expr inside;
  if (padding_of(node) == "zeros")
    inside = call(Fn::logical_and, {call(Fn::ge, {at, zero}), call(Fn::le, {at, last})});
  const Expr index = cast(clipped(at, zero, last), DType::i64);
  return {context.indirect(index, extent), inside, weight};
}

std::vector<GridTap> taps_of(ElementContext& context, const Expr& g, const SymInt& extent) {
  const Node& node = context.node();
  const Expr at = position(node, g, extent);
  const auto tap = [&](const Expr& whole, const Expr& weight) {
    return tap_at(context, node, whole, weight, extent);
  };
  if (mode_of(node) == "nearest")
    return {tap(call(Fn::round, {padded(node, at, extent)}), nullptr)};
  const Expr one = number(at, 1);
  if (mode_of(node) == "bilinear") {
    const Expr inner = padded(node, at, extent), first = call(Fn::floor, {inner});
    const Expr t = sub(inner, first);
    return {tap(first, sub(one, t)), tap(add(first, one), t)};
  }
  // Elements, not positions, are padded for the cubic; its weights are factored, so that little
  // cancels beside their roots.
  const double a = -0.75;
  const Expr from = bordered(node, at, extent);
  const Expr first = call(Fn::floor, {from}), t = sub(from, first), s = sub(one, t);
  const auto near = [&](const Expr& u, const Expr& rest) {
    return mul(rest, sub(add(one, u), mul(number(at, a + 2), mul(u, u))));
  };
  const Expr weights[] = {mul(number(at, a), mul(t, mul(s, s))), near(t, s), near(s, t),
                          mul(number(at, a), mul(s, mul(t, t)))};
  std::vector<GridTap> taps;
  for (int k = 0; k < 4; ++k)
    taps.push_back(tap(padded(node, add(first, number(at, k - 1)), extent), weights[k]));
  return taps;
}

Expr weighted_sum(ElementContext& context, const std::vector<std::vector<GridTap>>& taps,
                  std::vector<SymInt>& at, const Expr& inside, size_t d) {
  if (d == taps.size()) {
    const Expr x = context.operand(0, at);
    return inside ? select(inside, x, constant(x->dtype, 0)) : x;
  }
  Expr sum;
  for (const GridTap& tap : taps[d]) {
    at[d + 2] = tap.index;
    const Expr both[] = {inside, tap.inside};
    Expr value = weighted_sum(context, taps, at, all_of(both), d + 1);
    if (tap.weight) value = mul(cast(tap.weight, value->dtype), value);
    sum = sum ? add(sum, value) : value;
  }
  return sum;
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Shape& x = context.operand_type(0).shape;
  const size_t spatial = x.size() - 2;
  std::vector<SymInt> grid = {index[0]};
  grid.insert(grid.end(), index.begin() + 2, index.end());
  std::vector<std::vector<GridTap>> taps;
  for (size_t d = 0; d < spatial; ++d) {
    // The grid names the last dim first.
    grid.push_back(static_cast<int64_t>(spatial - 1 - d));
    taps.push_back(taps_of(context, context.operand(1, grid), x[d + 2]));
    grid.pop_back();
  }
  std::vector<SymInt> at(index.begin(), index.end());
  return weighted_sum(context, taps, at, nullptr, 0);
}

// ---- reference

struct HostTap {
  int64_t index;  // -1: nothing there
  double weight;
};

// The element that stands at whole number k.
int64_t host_element(const Node& node, double k, int64_t extent) {
  const double last = static_cast<double>(extent - 1);
  if (padding_of(node) == "zeros") return k >= 0 && k <= last ? static_cast<int64_t>(k) : -1;
  if (padding_of(node) == "reflection" && std::isfinite(k)) {
    const double period = aligns(node) ? 2 * last : 2 * static_cast<double>(extent);
    const double mirrored = aligns(node) ? -k : -1 - k;
    if (period > 0 && (k < 0 || k > last)) {
      double in = std::fmod(k < 0 ? mirrored : k, period);
      if (in > last) in = aligns(node) ? period - in : period - 1 - in;
      k = in;
    }
  }
  return static_cast<int64_t>(std::clamp(k, 0.0, last));
}

// A position, moved to where it is read.
double host_padded(const Node& node, double at, int64_t extent) {
  const double last = static_cast<double>(extent - 1);
  if (padding_of(node) == "zeros") return at;
  if (padding_of(node) == "reflection" && std::isfinite(at)) {
    const double lo = aligns(node) ? 0 : -0.5, hi = aligns(node) ? last : last + 0.5;
    if (hi == lo) return 0;
    double from = std::fmod(std::fabs(at - lo), 2 * (hi - lo));
    if (from > hi - lo) from = 2 * (hi - lo) - from;
    at = lo + from;
  }
  return std::clamp(at, 0.0, last);
}

std::vector<HostTap> host_taps(const Node& node, double g, int64_t extent) {
  const double size = static_cast<double>(extent);
  double at = aligns(node) ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
  if (std::isnan(at)) at = -1;
  if (mode_of(node) == "nearest")
    return {{host_element(node, std::nearbyint(host_padded(node, at, extent)), extent), 1}};
  if (mode_of(node) == "bilinear") {
    at = host_padded(node, at, extent);
    const double first = std::floor(at), t = at - first;
    // Beside the last element lies one without weight, or none.
    const auto inner = [&](double k) {
      return padding_of(node) == "zeros" ? host_element(node, k, extent)
                                         : static_cast<int64_t>(std::clamp(k, 0.0, size - 1));
    };
    return {{inner(first), 1 - t}, {inner(first + 1), t}};
  }
  const double margin = aligns(node) ? 0 : 0.5;
  const bool beyond = at < -margin || at > size - 1 + margin;
  if (beyond && padding_of(node) == "border" && node.attr<bool>("clip_position"))
    at = std::clamp(at, 0.0, size - 1);
  const double first = std::floor(at), t = at - first, a = -0.75;
  const auto cubic = [&](double u) {
    u = std::fabs(u);
    return u <= 1 ? (a + 2) * u * u * u - (a + 3) * u * u + 1
                  : a * u * u * u - 5 * a * u * u + 8 * a * u - 4 * a;
  };
  std::vector<HostTap> taps;
  for (int k = -1; k <= 2; ++k)
    taps.push_back({host_element(node, first + k, extent), cubic(t - k)});
  return taps;
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[0], &grid = *context.inputs[1];
  RefTensor& out = context.outputs[0];
  const size_t spatial = x.shape.size() - 2;
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    std::vector<int64_t> place = {index[0]};
    place.insert(place.end(), index.begin() + 2, index.end());
    place.push_back(0);
    const auto first = static_cast<size_t>(offset_of(place, grid.shape));
    std::vector<std::pair<int64_t, double>> sources = {{index[0] * x.shape[1] + index[1], 1.0}};
    for (size_t d = 0; d < spatial; ++d) {
      const int64_t extent = x.shape[d + 2];
      std::vector<std::pair<int64_t, double>> longer;
      for (const HostTap& tap : host_taps(context.node, grid.f[first + spatial - 1 - d], extent))
        for (const auto& [from, weight] : sources)
          longer.emplace_back(from < 0 || tap.index < 0 ? -1 : from * extent + tap.index,
                              weight * tap.weight);
      sources = std::move(longer);
    }
    double sum = 0;
    for (const auto& [from, weight] : sources)
      sum += weight * (from < 0 ? 0 : x.f[static_cast<size_t>(from)]);
    out.f[static_cast<size_t>(offset)] = sum;
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "grid_sample";
  op.operands = {"x", "grid"};
  op.attrs = {
      {"mode", AttrType::text, std::string("bilinear"), {"bilinear", "nearest", "bicubic"}},
      {"padding_mode", AttrType::text, std::string("zeros"), {"zeros", "border", "reflection"}},
      {"align_corners", AttrType::boolean, false},
      {"clip_position", AttrType::boolean, false}};  // bicubic at the border: as ONNX
  op.doc =
      "x [N, C, ...] at the positions grid [N, ..., spatial dims], the last dim's first, in units "
      "where x reaches from -1 to 1; torch.nn.functional.grid_sample";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  const Type image{DType::f32, {2, 3, 5, 7}}, grid{DType::f32, {2, 4, 6, 2}};
  const auto sample = [&](const char* mode, const char* padding, bool align) {
    return OpSample{{image, grid},
                    {{"mode", std::string(mode)},
                     {"padding_mode", std::string(padding)},
                     {"align_corners", align}}};
  };
  for (const char* mode : {"bilinear", "nearest", "bicubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      op.samples.push_back(sample(mode, padding, op.samples.size() % 2 == 1));
  op.samples.push_back(sample("bicubic", "border", false));
  op.samples.back().attrs["clip_position"] = true;
  op.samples.push_back({{{DType::f32, {1, 2, 3, 4, 5}}, {DType::f32, {1, 2, 3, 2, 3}}}, {}, -1, 1});
  op.samples.push_back({{{DType::f32, {1, 2, 1, 1}}, {DType::f32, {1, 2, 3, 2}}},
                        {{"padding_mode", std::string("reflection")}, {"align_corners", true}}});
  op.samples.push_back({{{DType::f16, {1, 2, 4, 4}}, {DType::f16, {1, 3, 3, 2}}}});
  op.samples.push_back({{{DType::f32, {1, 2, 4, 4}}, {DType::f32, {1, 0, 3, 2}}}});
  return op;
}

}  // namespace tcc::ir::ops::op_grid_sample
