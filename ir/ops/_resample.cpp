#include "ir/ops/_resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

constexpr int64_t kExtentLimit = int64_t{1} << 28;    // positions stay far below 2^63
constexpr int64_t kFractionLimit = int64_t{1} << 60;  // of a position's numerator
constexpr const char* kCrop = "tf_crop_and_resize";

Position reduced(Position p) {
  if (!p.step.is_const() || !p.start.is_const() || !p.unit.is_const()) return p;
  const int64_t divisor = std::gcd(std::gcd(p.step.value(), p.start.value()), p.unit.value());
  if (divisor <= 1) return p;
  return {p.step.value() / divisor, p.start.value() / divisor, p.unit.value() / divisor};
}

// step * o + start of numbers as a fraction; exact where their denominators allow.
Position cropped(const ResampledDim& dim) {
  const double last = static_cast<double>(dim.in.value() - 1);
  const double length = static_cast<double>(dim.in.value()) *
                        static_cast<double>(dim.scale.p.value()) /
                        static_cast<double>(dim.scale.q.value());
  const bool single = dim.out.is(1) || length <= 1;
  const double extent = dim.roi_end - dim.roi_start;
  const double step = single ? 0 : extent * last / (length - 1);
  const double start = single ? 0.5 * (dim.roi_start + dim.roi_end) * last : dim.roi_start * last;
  const Ratio a = to_ratio(step), b = to_ratio(start);
  const int64_t unit = std::lcm(a.q.value(), b.q.value());
  const double reach = (std::fabs(step) * static_cast<double>(dim.out.value()) + std::fabs(start)) *
                       static_cast<double>(unit);
  if (reach < static_cast<double>(kFractionLimit))
    return {a.p * (unit / a.q.value()), b.p * (unit / b.q.value()), unit};
  constexpr double binary = 1 << 24;
  return {std::llround(step * binary), std::llround(start * binary), int64_t{1} << 24};
}

std::vector<double> numbers(const Node& node, const char* key) {
  return node.attr<std::vector<double>>(key);
}

void check_dim(const InferContext& context, const ResampledDim& dim) {
  const auto is_small = [](const SymInt& extent, int64_t least) {
    return !extent.is_const() || (extent.value() >= least && extent.value() < kExtentLimit);
  };
  context.require(is_small(dim.in, 1), str("a dim of ", dim.in, " cannot be resampled"));
  context.require(is_small(dim.out, 0), str("a dim of ", dim.in, " would become ", dim.out));
  const auto& mode = context.node.attr<std::string>("coordinate_transformation_mode");
  if (mode != kCrop) return;
  const double largest = std::max(std::fabs(dim.roi_start), std::fabs(dim.roi_end));
  context.require(largest <= 64, str("roi ", largest, " is out of range (-64 to 64)"));
}

}  // namespace

Ratio lowest_terms(const SymInt& p, const SymInt& q) {
  // Negative sizes are refused by the shape rule, and the least integer has no gcd.
  if (!p.is_const() || !q.is_const() || p.value() < 0 || q.value() < 0) return {p, q};
  const int64_t divisor = std::max<int64_t>(1, std::gcd(p.value(), q.value()));
  return {p.value() / divisor, q.value() / divisor};
}

Ratio to_ratio(double value) {
  if (value == 0) return {0, 1};
  if (value < 0) {
    const Ratio positive = to_ratio(-value);
    return {-positive.p, positive.q};
  }
  // Continued fraction; the convergents p / q are the best approximations.
  const bool is_f32 = static_cast<double>(static_cast<float>(value)) == value;
  const double tolerance = is_f32 ? 0x1p-24 : 1e-12;
  constexpr int64_t limit = int64_t{1} << 24;
  int64_t p = 1, q = 0, previous_p = 0, previous_q = 1;
  double rest = value;
  while (rest < static_cast<double>(limit)) {
    const auto whole = static_cast<int64_t>(std::floor(rest));
    const int64_t next_p = whole * p + previous_p, next_q = whole * q + previous_q;
    if (next_p > limit || next_q > limit) break;
    previous_p = p, previous_q = q;
    p = next_p, q = next_q;
    const double error = std::fabs(static_cast<double>(p) / static_cast<double>(q) - value);
    if (error <= tolerance * value) return {p, q};
    rest = 1 / (rest - static_cast<double>(whole));
  }
  int exponent = 0;
  const double mantissa =
      std::frexp(value, &exponent);  // value = mantissa * 2^exponent, mantissa in [0.5, 1)
  const auto digits = static_cast<int64_t>(std::llround(std::ldexp(mantissa, 24)));
  const int shift = std::clamp(exponent - 24, -60, 30);
  return shift >= 0 ? Ratio{digits << shift, 1} : Ratio{digits, int64_t{1} << -shift};
}

bool ResampledDim::changes() const {
  return !(in == out) || !(scale.p == scale.q) || roi_start != 0 || roi_end != 1;
}

ResampledDim resampled_dim(const Node& node, size_t d) {
  const Shape& x = node.inputs[0]->shape();
  ResampledDim dim{.in = x[d], .out = node.attr<std::vector<SymInt>>("size")[d], .scale = {}};
  const auto scale = numbers(node, "scale"), roi = numbers(node, "roi");
  dim.scale_given = !scale.empty();
  dim.scale = scale.empty() ? lowest_terms(dim.out, dim.in) : to_ratio(scale[d]);
  if (!roi.empty() && node.attr<std::string>("coordinate_transformation_mode") == kCrop) {
    dim.roi_start = roi[d];
    dim.roi_end = roi[d + x.size()];
  }
  return dim;
}

Position position(const ResampledDim& dim, const std::string& mode) {
  const SymInt &p = dim.scale.p, &q = dim.scale.q;
  if (mode == kCrop) return reduced(cropped(dim));
  if (mode == "asymmetric") return {q, 0, p};
  if (mode == "half_pixel_symmetric")
    return reduced({2 * q, (dim.in - 1) * p + (1 - dim.out) * q, 2 * p});
  if (mode == "align_corners") {
    if (dim.out.is(1)) return {0, 0, 1};
    // The length of the result is in * scale, which need not be a whole number.
    if (dim.scale_given) return reduced({(dim.in - 1) * q, 0, max(dim.in * p - q, SymInt(1))});
    return reduced({dim.in - 1, 0, max(dim.out - 1, SymInt(1))});
  }
  if (mode == "pytorch_half_pixel" && dim.out.is(1)) return {0, 0, 1};
  return reduced({2 * q, q - p, 2 * p});
}

Expr is_inside(const ResampledDim& dim, const Position& position, const SymInt& o) {
  const Expr inside = in_range(position.at(o), 0, (dim.in - 1) * position.unit + 1);
  return inside && is_true(inside) ? nullptr : inside;
}

Expr as_number(const SymInt& value, DType dtype) {
  return value.is_const() ? constant(dtype, static_cast<double>(value.value()))
                          : cast(index_value(value), dtype);
}

std::vector<AttrDef> resample_attrs() {
  return {{"size", AttrType::ints, std::nullopt},
          {"scale", AttrType::numbers, std::vector<double>{}},  // none: size / shape of x
          {"coordinate_transformation_mode",
           AttrType::text,
           std::string("half_pixel"),
           {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
            "asymmetric", "tf_crop_and_resize"}},
          {"roi", AttrType::numbers, std::vector<double>{}},
          {"extrapolation_value", AttrType::number, 0.0}};
}

std::vector<Type> infer_resample(const InferContext& context) {
  const Type& x = *context.inputs[0];
  const size_t rank = x.shape.size();
  const auto& size = context.node.attr<std::vector<SymInt>>("size");
  context.require(size.size() == rank, str("size must have ", rank, " entries, not ", size.size()));
  const auto scale = numbers(context.node, "scale"), roi = numbers(context.node, "roi");
  context.require(scale.empty() || scale.size() == rank,
                  str("scale must have ", rank, " entries, not ", scale.size()));
  for (double factor : scale)
    context.require(factor >= 1e-4 && factor <= 1e4,
                    str("scale ", factor, " is out of range (0.0001 to 10000)"));
  const bool crops = context.node.attr<std::string>("coordinate_transformation_mode") == kCrop;
  context.require(roi.empty() ? !crops : roi.size() == 2 * rank,
                  str("roi must have ", 2 * rank, " entries, not ", roi.size()));
  for (size_t d = 0; d < rank; ++d)
    if (const ResampledDim dim = resampled_dim(context.node, d); dim.changes())
      check_dim(context, dim);
  return {{x.dtype, checked_shape(context, size)}};
}

bool host_inside(const ResampledDim& dim, const Position& position, int64_t o) {
  const int64_t at = position.at(o).value();
  return at >= 0 && at <= (dim.in.value() - 1) * position.unit.value();
}

std::vector<HostTaps> host_table(
    const Node& node, size_t d,
    const std::function<HostTaps(const ResampledDim&, const Position&, int64_t o)>& taps_of) {
  const auto& mode = node.attr<std::string>("coordinate_transformation_mode");
  const ResampledDim dim = resampled_dim(node, d);
  std::vector<HostTaps> table;
  for (int64_t o = 0; o < dim.out.value(); ++o) {
    if (!dim.changes()) {
      table.push_back({true, {{o, 1}}});
      continue;
    }
    const Position p = position(dim, mode);
    HostTaps taps = taps_of(dim, p, o);
    if (mode == kCrop) taps.inside = host_inside(dim, p, o);
    for (auto& [index, weight] : taps.taps)
      index = std::clamp<int64_t>(index, 0, dim.in.value() - 1);
    table.push_back(std::move(taps));
  }
  return table;
}

void resample_reference(EvalContext& context, const std::vector<std::vector<HostTaps>>& tables) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  const double outside = number_attr(context.node, "extrapolation_value");
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const auto to = static_cast<size_t>(offset);
    std::vector<std::pair<int64_t, double>> sources = {{0, 1.0}};
    bool inside = true;
    for (size_t d = 0; d < index.size(); ++d) {
      const HostTaps& taps = tables[d][static_cast<size_t>(index[d])];
      inside &= taps.inside;
      std::vector<std::pair<int64_t, double>> longer;
      for (const auto& [from, weight] : sources)
        for (const auto& [at, share] : taps.taps)
          longer.emplace_back(from * x.shape[d] + at, weight * share);
      sources = std::move(longer);
    }
    if (!out.is_float()) {
      out.i[to] = inside ? x.i[static_cast<size_t>(sources[0].first)]
                         : whole_attr(context.node, "extrapolation_value");
      return;
    }
    double sum = 0;
    for (const auto& [from, weight] : sources) {
      // A single source keeps its sign of zero.
      sum = sources.size() == 1 ? x.f[static_cast<size_t>(from)]
                                : sum + weight * x.f[static_cast<size_t>(from)];
    }
    out.f[to] = inside ? sum : outside;
  });
}

}  // namespace tcc::ir::ops
