#include "frontend/onnx/rules/_common.h"

#include <numeric>

#include "support/error.h"

namespace tcc::onnx {

Value* broadcast_operand(OpNode& n, Value* a, Value* b) {
  if (n.opset >= 7) return b;
  n.ignore("consumed_inputs");
  if (!n.flag("broadcast", false)) {
    n.ignore("axis");
    return b;
  }
  const int64_t axis = n.axis(n.integer("axis", a->rank() - b->rank()), a->rank() + 1);
  n.require(axis + b->rank() <= a->rank(), "the second operand does not fit the first");
  Shape shape = b->shape();
  shape.resize(static_cast<size_t>(a->rank() - axis), 1);
  return n.b.reshape(b, shape);
}

Value* along_dim(OpNode& n, Value* vector, const Value* x, int64_t dim) {
  Shape shape(static_cast<size_t>(x->rank()), 1);
  shape[static_cast<size_t>(n.axis(dim, x->rank()))] = vector->shape()[0];
  return n.b.reshape(vector, shape);
}

std::vector<int64_t> iota(int64_t from, int64_t to) {
  std::vector<int64_t> values(static_cast<size_t>(std::max<int64_t>(0, to - from)));
  std::iota(values.begin(), values.end(), from);
  return values;
}

std::optional<std::vector<int64_t>> axes_attr_or_input(OpNode& n, int since, size_t k) {
  if (n.opset >= since) return n.has_input(k) ? std::optional(n.ints(k)) : std::nullopt;
  return n.has("axes") ? std::optional(n.ints_attr("axes")) : std::nullopt;
}

}  // namespace tcc::onnx
