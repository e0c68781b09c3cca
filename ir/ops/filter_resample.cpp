#include <algorithm>
#include <cmath>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_resample.h"
#include "support/error.h"

namespace tcc::ir::ops::op_filter_resample {
namespace {

constexpr int64_t kUnrolled = 4;  // taps; more are a loop

const std::string& coordinates(const Node& node) {
  return node.attr<std::string>("coordinate_transformation_mode");
}

size_t filtered_dim(const Node& node) {
  return static_cast<size_t>(dim_attr(node, "dim", node.inputs[0]->rank()));
}

bool is_cubic(const Node& node) { return node.attr<std::string>("mode") == "cubic"; }

// The filter is stretched where it has to average: with antialias, when there are fewer output
// positions than input positions.
struct Filter {
  Ratio stretch = {1, 1};  // filter units per input element, at most 1
  int64_t reach = 1;       // taps to each side of a position
};

Filter filter_of(const Node& node, const ResampledDim& dim) {
  const int64_t radius = is_cubic(node) ? 2 : 1;
  if (!node.attr<bool>("antialias")) return {{1, 1}, radius};
  const int64_t p = dim.scale.p.value(), q = dim.scale.q.value();
  if (p >= q) return {{1, 1}, radius};
  return {{p, q}, (radius * q + p - 1) / p};
}

// The filters, Catmull-Rom's kind of cubic and a triangle, at distance t >= 0.
Expr filter_value(const Node& node, const Expr& t) {
  const DType dtype = t->dtype;
  const auto number = [&](double value) { return constant(dtype, value); };
  const Expr zero = number(0), one = number(1);
  if (!is_cubic(node)) return call(Fn::maximum, {sub(one, t), zero});
  const double a = number_attr(node, "cubic_coeff_a");
  // Factored, so that little cancels beside the roots: (1 - t)(1 + t - (a + 2) t^2) up to 1 and
  // a (t - 1)(2 - t)^2 up to 2.
  const Expr left = sub(number(2), t);
  const Expr near = mul(sub(one, t), sub(add(one, t), mul(number(a + 2), mul(t, t))));
  const Expr far = mul(mul(number(a), sub(t, one)), mul(left, left));
  return select(call(Fn::le, {t, one}), near, select(call(Fn::lt, {t, number(2)}), far, zero));
}

struct Weighted {
  Expr value, weight;
};

// Tap `k` of the filter around output position o: the weighted element, and its weight.
Weighted tap_at(ElementContext& context, std::span<const SymInt> index, const ResampledDim& dim,
                const Position& p, const Filter& filter, const SymInt& k) {
  const Node& node = context.node();
  const size_t d = filtered_dim(node);
  const SymInt position = p.at(index[d]);
  const SymInt tap = floordiv(position, p.unit) - (filter.reach - 1) + k;
  std::vector<SymInt> at(index.begin(), index.end());
  at[d] = min(max(tap, SymInt(0)), dim.in - 1);
  const Expr x = context.operand(0, at);
  const SymInt distance = tap * p.unit - position;
  const Expr units = call(Fn::abs, {as_number(distance, x->dtype)});
  const double per_unit =
      static_cast<double>(filter.stretch.p.value()) / static_cast<double>(filter.stretch.q.value());
  const Expr scaled =
      p.unit.is_const()
          ? mul(units, constant(x->dtype, per_unit / static_cast<double>(p.unit.value())))
          : mul(units, div(constant(x->dtype, per_unit), as_number(p.unit, x->dtype)));
  Expr weight = filter_value(node, scaled);
  if (node.attr<bool>("exclude_outside")) {
    const Expr inside = in_range(tap, 0, dim.in);
    if (inside && !is_true(inside)) weight = select(inside, weight, constant(x->dtype, 0));
  }
  return {mul(weight, x), weight};
}

Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const size_t d = filtered_dim(node);
  const ResampledDim dim = resampled_dim(node, d);
  if (!dim.changes()) return context.operand(0, index);
  const Position p = position(dim, coordinates(node));
  const Filter filter = filter_of(node, dim);
  Expr sum, weights;
  if (2 * filter.reach <= kUnrolled) {
    for (int64_t k = 0; k < 2 * filter.reach; ++k) {
      const Weighted tap = tap_at(context, index, dim, p, filter, k);
      sum = sum ? add(sum, tap.value) : tap.value;
      weights = weights ? add(weights, tap.weight) : tap.weight;
    }
  } else {
    const SymInt k = context.new_axis(2 * filter.reach);
    const Weighted tap = tap_at(context, index, dim, p, filter, k);
    sum = reduce(ReduceKind::sum, {k}, tap.value);
    weights = reduce(ReduceKind::sum, {k}, tap.weight);
  }
  const Expr zero = constant(sum->dtype, 0);
  // The weights of a whole filter that is not stretched are 1 together.
  if (node.attr<bool>("antialias") || node.attr<bool>("exclude_outside"))
    sum = div(sum, select(call(Fn::eq, {weights, zero}), constant(sum->dtype, 1), weights));
  if (coordinates(node) != "tf_crop_and_resize") return sum;
  const Expr inside = is_inside(dim, p, index[d]);
  const double outside = number_attr(node, "extrapolation_value");
  return inside ? select(inside, sum, constant(sum->dtype, outside)) : sum;
}

// ---- reference

// In long double: the f64 result is held against it.
long double host_filter(const Node& node, long double t) {
  t = std::fabs(t);
  if (!is_cubic(node)) return t < 1 ? 1 - t : 0;
  const long double a = number_attr(node, "cubic_coeff_a");
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * (t * t * t - 5 * t * t + 8 * t - 4) : 0;
}

HostTaps host_taps(const Node& node, const ResampledDim& dim, const Position& p, int64_t o) {
  const auto ratio = [](const SymInt& a, const SymInt& b) {
    return static_cast<long double>(a.value()) / static_cast<long double>(b.value());
  };
  const long double at = ratio(p.at(o), p.unit), scale = ratio(dim.scale.p, dim.scale.q);
  const long double stretch = node.attr<bool>("antialias") ? std::min(scale, 1.0L) : 1.0L;
  const long double radius = (is_cubic(node) ? 2 : 1) / stretch;
  const bool exclude = node.attr<bool>("exclude_outside");
  std::vector<std::pair<int64_t, long double>> taps;
  long double total = 0;
  for (auto j = static_cast<int64_t>(std::floor(at - radius));
       static_cast<long double>(j) <= at + radius; ++j) {
    if (exclude && (j < 0 || j >= dim.in.value())) continue;
    taps.emplace_back(j, host_filter(node, (static_cast<long double>(j) - at) * stretch));
    total += taps.back().second;
  }
  HostTaps result;
  for (const auto& [j, weight] : taps)
    result.taps.emplace_back(j, static_cast<double>(total == 0 ? weight : weight / total));
  return result;
}

void reference(EvalContext& context) {
  const Node& node = context.node;
  std::vector<std::vector<HostTaps>> tables;
  for (size_t d = 0; d < context.inputs[0]->shape.size(); ++d)
    tables.push_back(
        host_table(node, d, [&](const ResampledDim& dim, const Position& p, int64_t o) {
          return host_taps(node, dim, p, o);
        }));
  resample_reference(context, tables);
}

std::vector<Type> infer(const InferContext& context) {
  const Type& x = *context.inputs[0];
  context.require(is_float(x.dtype), "x must be a float tensor");
  const auto dim = static_cast<size_t>(dim_attr(context, "dim", static_cast<int>(x.shape.size())));
  auto result = infer_resample(context);
  for (size_t d = 0; d < x.shape.size(); ++d)
    context.require(d == dim || !resampled_dim(context.node, d).changes(),
                    str("only dim ", dim, " may change, not dim ", d));
  return result;
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "filter_resample";
  op.operands = {"x"};
  op.attrs = resample_attrs();
  op.attrs.push_back({"dim", AttrType::integer, std::nullopt});
  op.attrs.push_back({"mode", AttrType::text, std::string("cubic"), {"linear", "cubic"}});
  op.attrs.push_back({"cubic_coeff_a", AttrType::number, -0.75});
  op.attrs.push_back({"antialias", AttrType::boolean, false});
  // Elements beside x have no weight, rather than the value of the nearest.
  op.attrs.push_back({"exclude_outside", AttrType::boolean, false});
  op.doc =
      "x resampled along one dim by a filter, stretched over what an output element covers with "
      "`antialias`: what resize and interpolate are made of; ONNX's Resize";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  const auto sample = [](Type x, std::vector<int64_t> size, int64_t dim, const char* mode,
                         Attrs more = {}) {
    more["size"] = ints(size);
    more["dim"] = dim;
    more["mode"] = std::string(mode);
    return OpSample{{std::move(x)}, std::move(more)};
  };
  op.samples = {
      sample({f32, {2, 3, 7}}, {2, 3, 12}, 2, "cubic"),
      sample({f32, {9, 5}}, {4, 5}, 0, "cubic",
             {{"exclude_outside", true}, {"cubic_coeff_a", -0.5}}),
      sample({f32, {2, 12}}, {2, 5}, -1, "cubic", {{"antialias", true}}),
      sample({f32, {2, 12}}, {2, 5}, 1, "linear", {{"antialias", true}, {"exclude_outside", true}}),
      sample({f32, {3, 4, 2}}, {3, 9, 2}, 1, "linear", {{"antialias", true}}),
      sample({f32, {2, 6}}, {2, 5}, 1, "cubic",
             {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
              {"roi", std::vector<double>{0, 0.3, 1, 1.4}},
              {"extrapolation_value", -3.0}}),
      sample({f32, {2, 6}}, {2, 9}, 1, "cubic",
             {{"coordinate_transformation_mode", std::string("align_corners")}}),
      sample({f32, {1, 1}}, {1, 4}, 1, "cubic"),
      sample({f32, {0, 4}}, {0, 9}, 1, "cubic"),
      sample({f16, {4, 6}}, {4, 12}, 1, "cubic"),
      sample({f32, {31, 2}}, {4, 2}, 0, "cubic", {{"antialias", true}}),
      sample({f64, {6, 2}}, {9, 2}, 0, "cubic"),
  };
  return op;
}

}  // namespace tcc::ir::ops::op_filter_resample
