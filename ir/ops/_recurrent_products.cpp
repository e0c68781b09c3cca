#include "ir/ops/_recurrent_products.h"

namespace tcc::ir::ops {
namespace {

// x [..., K] and y [..., N, K] as sums over K: [..., N].
Value* sums(Builder& b, Value* x, Value* y) {
  return b.op("vecdot", {b.unsqueeze(x, x->rank() - 1), y});
}

Value* without_zero_point(Builder& b, Value* x, Value* zero) {
  x = b.cast(x, DType::i32);
  if (!zero) return x;
  zero = b.cast(zero, DType::i32);
  return b.sub(x, zero->rank() == 1 ? b.unsqueeze(zero, 1) : zero);
}

}  // namespace

std::vector<Value*> dot_products(Builder& b, Value* h, Value* weight, int64_t first,
                                 int64_t count) {
  const SymInt hidden = h->shape().back();
  std::vector<Value*> products;
  for (int64_t k = first; k < first + count; ++k) {
    Value* rows = b.slice(weight, 1, hidden * k, hidden * (k + 1));
    products.push_back(sums(b, b.compute(h), b.compute(b.unsqueeze(rows, 1))));
  }
  return products;
}

Value* matrix_product(Builder& b, Value* h, Value* weight, int64_t first, int64_t count) {
  const SymInt hidden = h->shape().back();
  if (!(weight->shape()[1] == hidden * count))
    weight = b.slice(weight, 1, hidden * first, hidden * (first + count));
  return b.compute(b.matmul(h, b.transpose(weight, 1, 2)));
}

IntegerWeights integer_weights(Builder& b, Value* weight, Value* scale, Value* zero) {
  const auto scalar = [&](Value* x) { return x && x->shape()[0].is(1) ? b.reshape(x, {}) : x; };
  return {weight, scalar(scale), scalar(zero)};
}

IntegerWeights rows_of(Builder& b, const IntegerWeights& weights, int64_t first, int64_t end) {
  const auto rows = [&](Value* x) { return x && x->rank() > 0 ? b.slice(x, 0, first, end) : x; };
  return {rows(weights.weight), rows(weights.scale), rows(weights.zero)};
}

QuantizedInput quantize_by_range(Builder& b, Value* x) {
  const std::vector<Value*> parts = b.ops("dynamic_quantize", {x});
  return {parts[0], parts[1], parts[2]};
}

Value* integer_product(Builder& b, const QuantizedInput& x, const IntegerWeights& weights,
                       bool as_sums) {
  Value* a = without_zero_point(b, x.x, x.zero);
  Value* w = without_zero_point(b, weights.weight, weights.zero);
  Value* sum = as_sums ? sums(b, a, w) : b.matmul(a, b.transpose(w, 0, 1));
  return b.mul(b.cast(sum, x.scale->dtype()), b.mul(x.scale, weights.scale));
}

}  // namespace tcc::ir::ops
