// Adaptive pooling: windows that split a dim into `output_size` parts, which overlap where it does
// not divide.
#include <numeric>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_pooling.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

std::string pool_name(ReduceKind kind) {
  return kind == ReduceKind::max ? "adaptive_max_pool" : "adaptive_avg_pool";
}

std::vector<Type> infer_adaptive(const InferContext& context, ReduceKind kind, int spatial) {
  const Type& x = *context.inputs[0];
  if (kind == ReduceKind::sum) require_float(context);
  context.require(x.dtype != DType::boolean, "x must be a tensor of numbers");
  require_image(context, 0, spatial);
  const auto size = spatial_ints(context, "output_size", spatial, 1);
  Shape out = x.shape;
  for (size_t d = 0; d < size.size(); ++d) {
    SymInt& extent = out[out.size() - size.size() + d];
    checked_size(context, extent, size[d]);
    extent = size[d];
  }
  return {{x.dtype, checked_shape(context, std::move(out))}};
}

// The part `o` of `extent` split into `parts`: [start, end).
SymInt part_start(const SymInt& extent, int64_t parts, const SymInt& o) {
  return floordiv(o * extent, parts);
}
SymInt part_end(const SymInt& extent, int64_t parts, const SymInt& o) {
  return ceildiv((o + 1) * extent, parts);
}

// The extent of the largest part. Where `parts` does not divide, a part of q + r / parts elements
// touches q + 1, and one more when it can start late enough in an element.
SymInt largest_part(const SymInt& extent, int64_t parts) {
  const SymInt whole = floordiv(extent, parts);
  if (extent.divisible_by(parts)) return whole;
  if (!extent.is_const()) return whole + 2;
  const int64_t rest = extent.value() % parts;
  return whole + (rest == std::gcd(rest, parts) ? 1 : 2);
}

Expr adaptive_element(ElementContext& context, ReduceKind kind, std::span<const SymInt> index) {
  const Shape& x = context.operand_type(0).shape;
  const size_t spatial = symint_list(context.node(), "output_size").size();
  const auto size = spatial_ints(context.node(), "output_size", static_cast<int>(spatial));
  std::vector<SymInt> axes;
  std::vector<Tap> taps;
  SymInt count = 1;
  for (size_t d = 0; d < spatial; ++d) {
    const SymInt& extent = x[x.size() - spatial + d];
    const SymInt& o = index[index.size() - spatial + d];
    axes.push_back(context.new_axis(largest_part(extent, size[d])));
    if (extent.divisible_by(size[d])) {
      const SymInt part = floordiv(extent, size[d]);
      taps.push_back({o * part + axes[d], nullptr});
      count = count * part;
      continue;
    }
    const SymInt start = part_start(extent, size[d], o),
                 length = part_end(extent, size[d], o) - start;
    taps.push_back({min(start + axes[d], extent - 1), index_less(axes[d], length)});
    count = count * length;
  }
  const Expr total = reduce_window(context, kind, index, axes, taps);
  return kind == ReduceKind::max ? total : divide_by_count(total, count);
}

void adaptive_reference(EvalContext& context, ReduceKind kind) {
  const auto spatial = symint_list(context.node, "output_size").size();
  const auto size = spatial_ints(context.node, "output_size", static_cast<int>(spatial));
  const auto& x = context.inputs[0]->shape;
  const auto range = [&](size_t d, int64_t o) -> WindowRange {
    const int64_t extent = x[x.size() - spatial + d];
    const int64_t start = part_start(extent, size[d], o).value();
    return {start, part_end(extent, size[d], o).value() - start, 1};
  };
  const auto divisor = [&](std::span<const int64_t> o) {
    double count = 1;
    for (size_t d = 0; d < spatial; ++d) count *= static_cast<double>(range(d, o[d]).count);
    return count;
  };
  pool_reference(context, kind, static_cast<int>(spatial), range, divisor);
}

}  // namespace

OpDef adaptive_pool_op(ReduceKind kind) {
  OpDef op;
  op.name = pool_name(kind);
  op.kind = OpKind::pointwise;
  op.operands = {"x"};
  op.attrs = {{"output_size", AttrType::ints, std::nullopt, {}, true}};
  op.doc = str(kind == ReduceKind::max ? "Maximum" : "Mean",
               " over the parts of the last dims of x, part o of n being floor(o * extent / n) up "
               "to ceil((o + 1) * "
               "extent / n); one entry of output_size per spatial dim; torch.nn.functional.",
               op.name, "2d");
  op.infer = [kind](const InferContext& context) {
    const auto spatial = symint_list(context.node, "output_size").size();
    context.require(spatial >= 1 && spatial <= context.inputs[0]->shape.size(),
                    "output_size must have an entry for each spatial dim");
    return infer_adaptive(context, kind, static_cast<int>(spatial));
  };
  op.element = [kind](ElementContext& context, std::span<const SymInt> index) {
    return adaptive_element(context, kind, index);
  };
  op.reference = [kind](EvalContext& context) { adaptive_reference(context, kind); };
  return op;
}

OpDef adaptive_pool_op(ReduceKind kind, int spatial) {
  OpDef op;
  op.name = str(pool_name(kind), spatial, "d");
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = {{"output_size", AttrType::ints, std::nullopt, {}, true}};
  op.doc = str(kind == ReduceKind::max ? "Maximum" : "Mean",
               " over output_size parts of each of the last ", spatial,
               " dims of x [N, C, ...]; torch.nn.functional.", op.name);
  op.infer = [=](const InferContext& context) { return infer_adaptive(context, kind, spatial); };
  op.compose = [=](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    const auto size = spatial_ints(node, "output_size", spatial);
    const bool single = size == std::vector<int64_t>(size.size(), 1);
    if (!single) return {b.op(pool_name(kind), {x}, {{"output_size", ints(size)}})};
    // A global pooling is a reduction, which has kernels of its own.
    const auto dims = dims_from(x->rank() - spatial, x->rank());
    return {b.reduce(kind == ReduceKind::max ? "amax" : "mean", x, dims, true)};
  };
  return op;
}

}  // namespace tcc::ir::ops
