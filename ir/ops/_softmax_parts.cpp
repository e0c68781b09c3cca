#include "ir/ops/_softmax_parts.h"

namespace tcc::ir::ops {

SoftmaxParts softmax_parts(Builder& b, Value* scores) {
  Value* max = b.reduce("amax", scores, {-1}, true);
  Value* exp = b.unary("exp", b.sub(scores, max));
  Value* sum = b.reduce("sum", exp, {-1}, true);
  // A row without keys has the maximum -inf, which is its log-sum-exp.
  Value* lse = b.op("where", {b.unary("isinf", max), max, b.add(b.unary("log", sum), max)});
  return {b.mul(exp, b.unary("reciprocal", sum)), lse};
}

Value* without_nan(Builder& b, Value* weights) {
  return b.op("where", {b.unary("isnan", weights), b.scalar(weights->dtype(), 0), weights});
}

}  // namespace tcc::ir::ops
