#include "scheduler/split_contraction.h"

#include <functional>
#include <numeric>

#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Builder;
using ir::Node;
using ir::Value;

int64_t product(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

// The operands of the matmul may be vectors and batches.
ContractionExtents matmul_extents(const Node& matmul) {
  const std::vector<int64_t> a = ir::const_shape(*matmul.inputs[0]),
                             b = ir::const_shape(*matmul.inputs[1]),
                             out = ir::const_shape(*matmul.outputs[0]);
  ContractionExtents extents;
  extents.k = extents.divisible = a.back();
  if (a.size() > 1) extents.m = a[a.size() - 2];
  if (b.size() > 1) extents.n = b.back();
  extents.batch = product(out) / std::max<int64_t>(1, extents.m * extents.n);
  return extents;
}

ContractionExtents convolution_extents(const Node& convolution) {
  const std::vector<int64_t> weight = ir::const_shape(*convolution.inputs[1]),
                             out = ir::const_shape(*convolution.outputs[0]);
  ContractionExtents extents;
  extents.batch = convolution.attr<int64_t>("groups");
  extents.n = out[1] / extents.batch;
  extents.m = product(out) / std::max<int64_t>(1, out[1]);
  extents.divisible = weight[1];
  extents.k = product(std::span(weight).subspan(1));
  return extents;
}

// `x` with dim `k` cut into [parts, k / parts], the parts as its first dim, then as many dims of
// extent 1 as bring its rank to `rank`.
Value* cut(Builder& b, Value* x, int64_t k, int64_t parts, int rank) {
  std::vector<int64_t> shape = ir::const_shape(*x);
  const auto at = static_cast<size_t>(k);
  shape[at] /= parts;
  shape.insert(shape.begin() + k, parts);
  std::vector<int64_t> order = {k};
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (d != k) order.push_back(d);
  x = b.permute(b.reshape(x, {shape.begin(), shape.end()}), order);
  while (x->rank() < rank) x = b.unsqueeze(x, 1);
  return x;
}

// The partial products of these operands. Partial sums are not rounded. Casts come last: views of
// weights fold as narrow as they are.
Value* partial(Builder& b, const Node& node, Value* x, Value* y, ir::Attrs attrs) {
  if (is_f8(x->dtype())) {
    attrs["out_dtype"] = std::string(name(DType::f32));
  } else {
    x = b.compute(x);
    y = b.compute(y);
  }
  return b.op(node.op_name(), {x, y}, std::move(attrs));
}

Value* split_matmul(Builder& b, const Node& node, int64_t parts) {
  Value *x = node.inputs[0], *y = node.inputs[1];
  if (x->rank() == 1) x = b.unsqueeze(x, 0);
  if (y->rank() == 1) y = b.unsqueeze(y, 1);
  const int rank = std::max(x->rank(), y->rank()) + 1;
  x = cut(b, x, x->rank() - 1, parts, rank);
  y = cut(b, y, y->rank() - 2, parts, rank);
  return b.reduce("sum", partial(b, node, x, y, node.attrs), {0});
}

// [groups * O, C, ...] as [groups * parts * O, C / parts, ...].
Value* cut_weight(Builder& b, Value* weight, int64_t groups, int64_t parts) {
  const std::vector<int64_t> whole = ir::const_shape(*weight);
  std::vector<int64_t> shape = {groups, whole[0] / groups, parts, whole[1] / parts};
  shape.insert(shape.end(), whole.begin() + 2, whole.end());
  std::vector<int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[1], order[2]);
  Value* turned = b.permute(b.reshape(weight, {shape.begin(), shape.end()}), order);
  std::vector<int64_t> joined = {whole[0] * parts, whole[1] / parts};
  joined.insert(joined.end(), whole.begin() + 2, whole.end());
  return b.reshape(turned, {joined.begin(), joined.end()});
}

Value* split_convolution(Builder& b, const Node& node, int64_t parts) {
  const auto groups = node.attr<int64_t>("groups");
  ir::Attrs attrs = node.attrs;
  attrs["groups"] = groups * parts;
  Value* sums =
      partial(b, node, node.inputs[0], cut_weight(b, node.inputs[1], groups, parts), attrs);
  const std::vector<int64_t> out = ir::const_shape(*node.outputs[0]);
  std::vector<int64_t> shape = {out[0], groups, parts, out[1] / groups};
  shape.insert(shape.end(), out.begin() + 2, out.end());
  return b.reduce("sum", b.reshape(sums, {shape.begin(), shape.end()}), {2});
}

}  // namespace

int64_t tiles_of(const ContractionExtents& product, int64_t rows, int64_t columns) {
  return product.batch * ceil_div(product.m, rows) * ceil_div(product.n, columns);
}

ContractionExtents contraction_extents(const Node& node) {
  return node.op_name() == "convolution" ? convolution_extents(node) : matmul_extents(node);
}

ir::Replacement split_contraction(Builder& b, const Node& node, int64_t parts) {
  const ContractionExtents extents = contraction_extents(node);
  TCC_CHECK(parts > 0 && extents.divisible % parts == 0, extents.divisible, " in ", parts,
            " parts");
  Value* sum = node.op_name() == "convolution" ? split_convolution(b, node, parts)
                                               : split_matmul(b, node, parts);
  return {b.cast(b.reshape(sum, node.outputs[0]->shape()), node.outputs[0]->dtype())};
}

}  // namespace tcc::sched
