#include "ir/ops/_scatter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_indexing.h"
#include "ir/ops/_integers.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

std::vector<Type> infer_scatter(const InferContext& context) {
  const Type &x = *context.inputs[0], &index = *context.inputs[1], &src = *context.inputs[2];
  require_index(context, "index", index.dtype);
  context.require(x.dtype == src.dtype, str("x is ", name(x.dtype), " but src ", name(src.dtype)));
  context.require(context.node.op->name == "scatter" || x.dtype != DType::boolean,
                  "is not defined for bool");
  const int dim = dim_attr(context, "dim", static_cast<int>(x.shape.size()));
  require_covered(context, "index", index.shape, "x", x.shape, dim);
  require_covered(context, "index", index.shape, "src", src.shape, -1);
  require_not_empty(context, x.shape, dim, index.shape);
  return {x};
}

}  // namespace

std::optional<Scattered> scattered_source(ElementContext& context, std::span<const SymInt> index) {
  const Shape& x = context.operand_type(0).shape;
  const Shape& extents = context.operand_type(1).shape;
  const auto dim = static_cast<size_t>(dim_attr(context.node(), "dim", static_cast<int>(x.size())));
  if (product(extents).is(0) || x[dim].is(0)) return std::nullopt;
  Scattered result{.dim = dim,
                   .axis = context.new_axis(extents[dim]),
                   .extent = extents[dim],
                   .index = {index.begin(), index.end()},
                   .hit = nullptr};
  std::vector<Expr> conditions;
  for (size_t d = 0; d < x.size(); ++d) {
    if (d == dim || extents[d] == x[d]) continue;
    conditions.push_back(index_less(index[d], extents[d]));
    result.index[d] = min(index[d], extents[d] - 1);
  }
  result.index[dim] = result.axis;
  const SymInt target = context.indirect(context.operand(1, result.index), x[dim]);
  conditions.push_back(call(Fn::eq, {index_value(target), index_value(index[dim])}));
  const Expr all = all_of(conditions);
  result.hit = all ? all : constant_int(DType::boolean, 1);  // all go to the one place there is
  return result;
}

ReduceKind scatter_kind(std::string_view reduction) {
  if (reduction == "sum" || reduction == "add" || reduction == "mean") return ReduceKind::sum;
  if (reduction == "prod" || reduction == "mul") return ReduceKind::prod;
  if (reduction == "amax" || reduction == "max") return ReduceKind::max;
  TCC_CHECK(reduction == "amin" || reduction == "min", "scatter by ", reduction);
  return ReduceKind::min;
}

Expr scatter_identity(ReduceKind kind, DType dtype) {
  return is_float(dtype) ? constant(dtype, identity(kind, dtype))
                         : constant_int(dtype, identity_int(kind, dtype));
}

Expr scatter_fold(ReduceKind kind, const Expr& a, const Expr& b) {
  switch (kind) {
    case ReduceKind::sum: return add(a, b);
    case ReduceKind::prod: return mul(a, b);
    case ReduceKind::max: return maximum(a, b);
    default: return minimum(a, b);
  }
}

void scatter_fold(ReduceKind kind, RefTensor& out, size_t to, const RefTensor& src, size_t from) {
  if (out.is_float()) {
    double &a = out.f[to], b = src.f[from];
    if (kind == ReduceKind::sum) a += b;
    if (kind == ReduceKind::prod) a *= b;
    const bool nan = std::isnan(a) || std::isnan(b);
    if (kind == ReduceKind::max) a = nan ? std::nan("") : std::max(a, b);
    if (kind == ReduceKind::min) a = nan ? std::nan("") : std::min(a, b);
    return;
  }
  int64_t &a = out.i[to], b = src.i[from];
  const int order = three_way(out.dtype, a, b);
  if (kind == ReduceKind::sum) a = wrapping_add(a, b);
  if (kind == ReduceKind::prod) a = wrapping_mul(a, b);
  if (kind == ReduceKind::max && order < 0) a = b;
  if (kind == ReduceKind::min && order > 0) a = b;
}

OpDef scatter_op(std::string name, std::string doc) {
  OpDef op;
  op.name = std::move(name);
  op.operands = {"x", "index", "src"};
  op.attrs = {{"dim", AttrType::integer, std::nullopt}};
  op.doc = std::move(doc);
  op.infer = infer_scatter;
  using enum DType;
  op.samples = {{.inputs = {{f32, {8, 5}}, {i64, {6, 5}}, {f32, {6, 5}}}, .attrs = {{"dim", 0}}},
                {.inputs = {{f32, {3, 8}}, {i32, {2, 11}}, {f32, {4, 12}}},
                 .attrs = {{"dim", 1}},
                 .int_lo = -8},
                {.inputs = {{f16, {8}}, {i64, {20}}, {f16, {20}}}, .attrs = {{"dim", -1}}},
                {.inputs = {{i64, {8, 2}}, {i64, {0, 2}}, {i64, {3, 2}}}, .attrs = {{"dim", 0}}}};
  return op;
}

void scatter(EvalContext& context,
             const std::function<void(RefTensor& out, size_t to, const RefTensor& src,
                                      size_t from)>& write) {
  const RefTensor &x = *context.inputs[0], &chosen = *context.inputs[1], &src = *context.inputs[2];
  RefTensor& out = context.outputs[0];
  out.f = x.f;
  out.i = x.i;
  const auto dim =
      static_cast<size_t>(dim_attr(context.node, "dim", static_cast<int>(x.shape.size())));
  if (chosen.numel() == 0) return;
  std::vector<int64_t> index(chosen.shape.size());
  // On one thread, in order: several elements may go to one place.
  for (size_t k = 0; k < chosen.i.size(); ++k, ops::advance(index, chosen.shape)) {
    std::vector<int64_t> to = index;
    to[dim] = place(chosen.i[k], x.shape[dim]);
    write(out, static_cast<size_t>(offset_of(to, x.shape)), src,
          static_cast<size_t>(offset_of(index, src.shape)));
  }
}

}  // namespace tcc::ir::ops
