#include "frontend/onnx/rules/_attention.h"

#include <limits>

#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {

Value* split_heads(OpNode& n, Value* x, int64_t heads) {
  n.require(x->rank() == 3, "query, key and value must be [batch, length, hidden]");
  const Shape& shape = x->shape();
  n.require(heads > 0 && shape[2].divisible_by(heads),
            str("the hidden size ", shape[2], " is no multiple of ", heads, " heads"));
  Value* split = n.b.reshape(x, {shape[0], shape[1], heads, ir::floordiv(shape[2], heads)});
  return n.b.permute(split, {0, 2, 1, 3});
}

Value* merge_heads(OpNode& n, Value* x) {
  const Shape shape = x->shape();
  return n.b.reshape(n.b.permute(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

Value* positions(OpNode& n, const SymInt& count) {
  return n.b.op("iota", {}, {{"size", Shape{count}}});
}

Value* positions_from(OpNode& n, const SymInt& first, const SymInt& count) {
  Value* at = positions(n, count);
  return first.is(0) ? at : n.b.add(at, n.dims_value({first}));
}

Value* behind(OpNode& n, Value* past, Value* x) {
  return past ? n.b.op("cat", {past, n.b.cast(x, past->dtype())}, {{"dim", 2}}) : x;
}

Value* attend(OpNode& n, const AttentionParts& parts) {
  Value* mask = parts.visible;
  if (parts.added) {
    mask = parts.added;
    // The lowest number rather than -inf: rows in which all is hidden are uniform.
    const DType wide = compute_dtype(mask->dtype());
    constexpr double lowest = std::numeric_limits<float>::lowest();
    if (parts.visible)
      mask = n.b.op("where", {parts.visible, n.b.cast(mask, wide), n.b.scalar(wide, lowest)});
  }
  Value* out = n.b.op("scaled_dot_product_attention", {parts.query, parts.key, parts.value, mask},
                      {{"scale", parts.scale}, {"enable_gqa", parts.grouped}});
  return merge_heads(n, out);
}

Value* causal_keys(OpNode& n, const SymInt& rows, const SymInt& columns, const SymInt& first) {
  if (first.is_const())
    return n.b.op("causal_mask", {}, {{"size", Shape{rows, columns}}, {"diagonal", first.value()}});
  Value* row = n.b.unsqueeze(positions_from(n, first, rows), 1);
  return n.b.op("le", {positions(n, columns), row});
}

Value* added_mask(OpNode& n, Value* visible, double hidden) {
  return n.b.op("where", {visible, n.b.scalar(DType::f32, 0), n.b.scalar(DType::f32, hidden)});
}

Value* sum_of(OpNode& n, Value* a, Value* b) {
  if (!a || !b) return a ? a : b;
  return n.b.add(n.b.compute(a), n.b.compute(b));
}

Value* rotate(OpNode& n, Value* x, Value* positions, Value* cos, Value* sin, bool interleaved) {
  n.require(cos->rank() == 2 && cos->shape() == sin->shape(),
            "cos_cache and sin_cache must be [positions, half the rotated size]");
  const auto rows = [&](Value* cache) { return n.b.op("embedding", {positions, cache}); };
  return rotate_by(n, x, rows(cos), rows(sin), interleaved);
}

Value* rotate_by(OpNode& n, Value* x, Value* cos, Value* sin, bool interleaved) {
  n.require(cos->rank() >= 2 && cos->shape() == sin->shape(),
            "cos_cache and sin_cache differ in their shapes");
  const SymInt half = cos->shape().back(), depth = x->shape()[3], rotated = half * 2;
  n.require(half.is_const() && depth.is_const() && rotated.value() <= depth.value(),
            str("cos_cache has ", half, " columns for heads of size ", depth));
  const auto angles = [&](Value* rows) {  // of every head
    return n.b.compute(n.b.unsqueeze(rows, rows->rank() - 2));
  };
  const DType dtype = x->dtype();
  Value *c = angles(cos), *s = angles(sin);
  Shape pairs = x->shape();
  pairs.back() = interleaved ? half : 2;
  pairs.push_back(interleaved ? 2 : half);
  const int64_t part = interleaved ? 4 : 3;
  Value* turned = n.b.reshape(n.b.slice(n.b.compute(x), 3, 0, rotated), pairs);
  const auto piece = [&](int64_t k) {
    return n.b.op("select", {turned}, {{"dim", part}, {"index", k}});
  };
  Value *a = piece(0), *b = piece(1);
  Value* first = n.b.sub(n.b.mul(a, c), n.b.mul(b, s));
  Value* second = n.b.add(n.b.mul(b, c), n.b.mul(a, s));
  Shape shape = x->shape();
  shape.back() = rotated;
  Value* joined = n.b.reshape(n.b.op("stack", {first, second}, {{"dim", part}}), shape);
  joined = n.b.cast(joined, dtype);
  if (rotated == depth) return joined;
  return n.b.op("cat", {joined, n.b.slice(x, 3, rotated, depth)}, {{"dim", 3}});
}

}  // namespace tcc::onnx
