// Poolings.
#include <algorithm>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "frontend/onnx/rules/_windows.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

// Positions count from the start of the whole tensor, not of their plane; storage_order 1 counts
// the last dim but one fastest.
Value* global_indices(OpNode& n, Value* x, Value* indices, bool columns) {
  const Shape& s = x->shape();
  const std::span<const SymInt> extents = std::span(s).subspan(2);
  const SymInt plane = ir::product(extents);
  if (columns && x->rank() == 4) {
    Value* width = scalar(n, s[3]);
    Value* row = n.b.op("floor_divide", {indices, width});
    Value* column = n.b.op("remainder", {indices, width});
    indices = n.b.add(n.b.mul(column, scalar(n, s[2])), row);
  } else {
    n.require(!columns || x->rank() == 3, "storage_order 1 needs one or two spatial dims");
  }
  Shape planes(indices->shape().size(), 1);
  planes[0] = s[0];
  planes[1] = s[1];
  Value* number_of_plane = n.b.op("iota", {}, {{"size", Shape{s[0] * s[1]}}});
  Value* base = n.b.reshape(n.b.mul(number_of_plane, scalar(n, plane)), planes);
  return n.b.add(indices, base);
}

Results max_pool(OpNode& n) {
  Value* x = n.in(0);
  const Windows w = windows_of(n, x, {});
  ir::Attrs attrs = window_attrs(n, w);
  const bool columns = n.flag("storage_order", false);
  if (!n.wants(1)) return {n.b.op(by_rank(n, "max_pool", w.kernel.size()), {x}, attrs)};
  const auto results =
      n.b.ops(by_rank(n, "max_pool", w.kernel.size()) + "_with_indices", {x}, attrs);
  return {results[0], global_indices(n, x, results[1], columns)};
}

Results average_pool(OpNode& n) { return {average_pooled(n, n.in(0))}; }

Results lp_pool(OpNode& n) {
  Value* x = n.in(0);
  const Windows w = windows_of(n, x, {});
  ir::Attrs attrs = window_attrs(n, w);
  attrs["absolute"] = true;
  attrs["norm_type"] = n.opset < 2 ? n.number("p", 2) : static_cast<double>(n.integer("p", 2));
  return {n.b.op(by_rank(n, "lp_pool", w.kernel.size()), {x}, attrs)};
}

template <const char* op>
Results global_pool(OpNode& n) {
  Value* x = n.in(0);
  n.require(x->rank() >= 3, "x must be [N, C, ...]");
  return {n.b.reduce(op, x, iota(2, x->rank()), true)};
}

Results global_lp_pool(OpNode& n) {
  Value* x = n.b.compute(n.in(0));
  n.require(x->rank() >= 3, "x must be [N, C, ...]");
  const double p = n.opset < 2 ? n.number("p", 2) : static_cast<double>(n.integer("p", 2));
  Value* norm =
      n.b.op("norm", {x}, {{"dim", ir::ints(iota(2, x->rank()))}, {"keepdim", true}, {"p", p}});
  return {n.b.cast(norm, n.in(0)->dtype())};
}

// The values of a max pooling back at their positions, the rest 0. Positions are those of the
// shape that the windows come from; output_shape may be larger.
Results max_unpool(OpNode& n) {
  Value *x = n.in(0), *indices = n.in(1);
  const Windows w = windows_of(n, x, {});
  n.require(w.begin == w.end, "pads must be the same at both ends");
  ir::Attrs attrs = window_attrs(n, w);
  for (const char* unused : {"dilation", "ceil_mode"}) attrs.erase(unused);
  SymInt plane = 1;
  for (size_t d = 0; d < w.kernel.size(); ++d)
    plane = plane * ((x->shape()[d + 2] - 1) * w.stride[d] + w.kernel[d] - w.begin[d] - w.end[d]);
  Value* size = scalar(n, plane);
  Value* local = n.b.op("remainder", {indices, size});
  Value* result = n.b.op(by_rank(n, "max_unpool", w.kernel.size()), {x, local}, attrs);
  if (!n.has_input(2)) return {result};
  const std::vector<int64_t> wanted = n.ints(2);
  n.require(wanted.size() == result->shape().size(), "output_shape has another rank than x");
  std::vector<int64_t> pads;
  for (size_t d = wanted.size(); d-- > 2;) {
    const SymInt& extent = result->shape()[d];
    n.require(extent.is_const(),
              str("output_shape needs sizes that are numbers (", n.dim_option(), ")"));
    n.require(wanted[d] >= extent.value(), str("output_shape has ", wanted[d], " for ", extent));
    pads.insert(pads.end(), {0, wanted[d] - extent.value()});
  }
  return {n.b.op("pad", {result}, {{"pad", ir::ints(pads)}})};
}

constexpr char kAmax[] = "amax", kMean[] = "mean";

constexpr Rule kPoolingRules[] = {
    {"AveragePool", average_pool},
    {"GlobalAveragePool", global_pool<kMean>},
    {"GlobalLpPool", global_lp_pool},
    {"GlobalMaxPool", global_pool<kAmax>},
    {"LpPool", lp_pool},
    {"MaxPool", max_pool},
    {"MaxUnpool", max_unpool},
};

}  // namespace

std::span<const Rule> pooling_rules() { return kPoolingRules; }

}  // namespace tcc::onnx
