#include <cmath>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"
#include "ir/ops/_resample.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

bool is_nearest(const Node& node) { return node.attr<std::string>("mode").starts_with("nearest"); }

size_t spatial_rank(const Node& node) { return node.inputs[0]->shape().size() - 2; }

// The entry of `size` or `scale_factor` for spatial dim `d`; one entry stands for all.
template <class T>
const T& entry(const std::vector<T>& values, size_t d) {
  return values.size() == 1 ? values[0] : values[d];
}

// Spatial dim `d` of a checked node.
Resampled resampled_dim(const Node& node, size_t d) {
  const SymInt& in = node.inputs[0]->shape()[d + 2];
  const auto& size = node.attr<std::vector<SymInt>>("size");
  if (!size.empty()) return {in, entry(size, d), lowest_terms(in, entry(size, d))};
  const double scale = entry(node.attr<std::vector<double>>("scale_factor"), d);
  const Ratio ratio = to_ratio(scale);
  // PyTorch rounds in * scale in floating point; a step is 1 / scale, not in / out.
  const SymInt out =
      in.is_const()
          ? SymInt(static_cast<int64_t>(std::floor(static_cast<double>(in.value()) * scale)))
          : floordiv(in * ratio.p, ratio.q);
  return {in, out, {ratio.q, ratio.p}};
}

void check_mode(const InferContext& context, size_t spatial) {
  const auto& mode = context.node.attr<std::string>("mode");
  const size_t wanted = mode == "linear"      ? 1
                        : mode == "bilinear"  ? 2
                        : mode == "trilinear" ? 3
                                              : spatial;
  context.require(wanted == spatial,
                  str("mode ", mode, " needs ", wanted, " spatial dims, x has ", spatial));
  if (is_nearest(context.node)) {
    context.require(!context.node.attr<bool>("align_corners"), "align_corners needs a linear mode");
  } else {
    context.require(is_float(context.inputs[0]->dtype),
                    str("mode ", mode, " needs a float tensor"));
  }
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
  Shape out = x.shape;
  for (size_t d = 0; d < spatial; ++d) {
    const SymInt& in = x.shape[d + 2];
    const bool small = !in.is_const() || (in.value() >= 1 && in.value() < (int64_t{1} << 31));
    context.require(small, str("a spatial dim of ", in, " cannot be resampled"));
    out[d + 2] = resampled_dim(context.node, d).out;
    const SymInt& extent = out[d + 2];
    context.require(
        !extent.is_const() || (extent.value() >= 1 && extent.value() < (int64_t{1} << 31)),
        str("a spatial dim of ", in, " would become ", extent));
  }
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

Expr as_number(const SymInt& value, DType dtype) {
  return value.is_const() ? constant(dtype, static_cast<double>(value.value()))
                          : cast(index_value(value), dtype);
}

// The interpolation over the spatial dims from `d` on, the index before them being complete.
Expr interpolate_from(ElementContext& context, std::vector<SymInt>& at,
                      std::span<const SymInt> index, size_t d) {
  if (d == spatial_rank(context.node())) return context.operand(0, at);
  const auto n = linear(resampled_dim(context.node(), d), index[d + 2],
                        context.node().attr<bool>("align_corners"));
  at[d + 2] = n.first;
  const Expr first = interpolate_from(context, at, index, d + 1);
  at[d + 2] = n.second;
  const Expr second = interpolate_from(context, at, index, d + 1);
  const DType dtype = first->dtype;
  const Expr weight = div(as_number(n.weight.p, dtype), as_number(n.weight.q, dtype));
  return add(mul(sub(constant(dtype, 1), weight), first), mul(weight, second));
}

Expr interpolate_element(ElementContext& context, std::span<const SymInt> index) {
  std::vector<SymInt> at(index.begin(), index.end());
  const Node& node = context.node();
  if (!is_nearest(node)) return interpolate_from(context, at, index, 0);
  const bool exact = node.attr<std::string>("mode") == "nearest-exact";
  for (size_t d = 2; d < index.size(); ++d)
    at[d] = nearest(resampled_dim(node, d - 2), index[d], exact);
  return context.operand(0, at);
}

// ---- reference

struct HostNeighbours {
  int64_t first, second;
  double weight;  // of the second
};

std::vector<HostNeighbours> host_neighbours(const Node& node, size_t d) {
  const Resampled dim = resampled_dim(node, d);
  const bool exact = node.attr<std::string>("mode") == "nearest-exact";
  std::vector<HostNeighbours> all;
  for (int64_t o = 0; o < dim.out.value(); ++o) {
    if (is_nearest(node)) {
      const int64_t index = nearest(dim, o, exact).value();
      all.push_back({index, index, 0});
      continue;
    }
    const Neighbours n = linear(dim, o, node.attr<bool>("align_corners"));
    all.push_back(
        {n.first.value(), n.second.value(),
         static_cast<double>(n.weight.p.value()) / static_cast<double>(n.weight.q.value())});
  }
  return all;
}

double sample(const RefTensor& x, const std::vector<std::vector<HostNeighbours>>& tables,
              std::span<const int64_t> o, size_t d, int64_t offset) {
  if (d == o.size()) return x.f[static_cast<size_t>(offset)];
  const HostNeighbours& n = tables[d][static_cast<size_t>(o[d])];
  const int64_t base = offset * x.shape[d + 2];
  const double first = sample(x, tables, o, d + 1, base + n.first);
  return (1 - n.weight) * first + n.weight * sample(x, tables, o, d + 1, base + n.second);
}

void interpolate_reference(EvalContext& context) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  std::vector<std::vector<HostNeighbours>> tables;
  for (size_t d = 0; d + 2 < x.shape.size(); ++d)
    tables.push_back(host_neighbours(context.node, d));
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    const int64_t plane = index[0] * x.shape[1] + index[1];
    const auto o = index.subspan(2);
    const auto to = static_cast<size_t>(offset);
    if (out.is_float()) {
      out.f[to] = sample(x, tables, o, 0, plane);
      return;
    }
    int64_t from = plane;
    for (size_t d = 0; d < o.size(); ++d)
      from = from * x.shape[d + 2] + tables[d][static_cast<size_t>(o[d])].first;
    out.i[to] = x.i[static_cast<size_t>(from)];
  });
}

}  // namespace

OpDef make_interpolate() {
  OpDef op;
  op.name = "interpolate";
  op.kind = OpKind::pointwise;
  op.operands = {"x"};
  op.attrs = {{"size", AttrType::ints, ints({}), {}, true},
              {"scale_factor", AttrType::numbers, std::vector<double>{}, {}, true},
              {"mode",
               AttrType::text,
               std::string("nearest"),
               {"nearest", "nearest-exact", "linear", "bilinear", "trilinear"}},
              {"align_corners", AttrType::boolean, false}};
  op.doc =
      "The spatial dims of x [N, C, ...] resampled to `size` or by `scale_factor` (a step is 1 / "
      "scale_factor), with exact "
      "index arithmetic; torch.nn.functional.interpolate";
  op.infer = infer_interpolate;
  op.element = interpolate_element;
  op.reference = interpolate_reference;
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
      {{{DType::f32, {0, 2, 4, 4}}}, {{"scale_factor", 0.5}}},
      {{{DType::f16, {1, 4, 6, 6}}}, {{"scale_factor", 2.0}, {"mode", mode("bilinear")}}},
      {{{DType::u8, {1, 3, 5, 5}}}, {{"size", ints({8})}}},
  };
  return op;
}

}  // namespace tcc::ir::ops
