#include <cmath>
#include <limits>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_indexing.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_random.h"
#include "ir/ops/_softmax_parts.h"
#include "support/error.h"

namespace tcc::ir::ops::op_scaled_dot_product_attention {
namespace {

Shape batch_dims(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

void check_mask(const InferContext& context, const Shape& scores) {
  const Type* mask = context.inputs[3];
  if (!mask) return;
  context.require(!context.node.attr<bool>("is_causal"),
                  "attn_mask and is_causal exclude each other");
  context.require(mask->dtype == DType::boolean || is_float(mask->dtype),
                  "attn_mask must be bool or float");
  context.require(
      context.broadcast(mask->shape, scores) == scores,
      str("attn_mask ", shape_text(mask->shape), " does not broadcast to ", shape_text(scores)));
}

void check_lengths(const InferContext& context, const Shape& scores) {
  const Type* lengths = context.inputs[4];
  if (!lengths) return;
  require_index(context, "key_lengths", lengths->dtype);
  context.require(scores.size() >= 3, "key_lengths need a batch dim");
  require_shape(context, 4, {scores.front()}, "[batch]");
}

// Fails where query heads would share key heads, if that were asked for.
void require_same_heads(const InferContext& context, const Shape& query, const Shape& key) {
  if (query.empty() || query.size() != key.size()) return;
  const SymInt &heads = query.back(), &shared = key.back();
  if (!heads.is_const() || !shared.is_const() || shared.value() <= 1 || heads == shared) return;
  context.require(
      !heads.divisible_by(shared.value()),
      str(heads, " query heads and ", shared, " key heads do not broadcast; with enable_gqa, ",
          heads.value() / shared.value(), " query heads share a key head"));
}

Shape attention_batch(const InferContext& context) {
  const Shape query = batch_dims(context.inputs[0]->shape),
              key = batch_dims(context.inputs[1]->shape),
              value = batch_dims(context.inputs[2]->shape);
  const bool grouped = context.node.attr<bool>("enable_gqa");
  if (!grouped) require_same_heads(context, query, key);
  if (!grouped) return context.broadcast(context.broadcast(query, key), value);
  context.require(!query.empty() && query.size() == key.size() && key == value,
                  "enable_gqa needs key and value with the same dims [..., heads, keys, depth] and "
                  "as many as query");
  const SymInt &heads = query.back(), &shared = key.back();
  // Symbols are judged when they have values.
  const bool is_known = heads.is_const() && shared.is_const();
  context.require(!is_known || (shared.value() > 0 && heads.divisible_by(shared.value())),
                  str("the ", heads, " query heads are no multiple of the ", shared, " key heads"));
  context.require(std::equal(query.begin(), query.end() - 1, key.begin()),
                  "query and key differ in their batch dims");
  return query;
}

std::vector<Type> infer_attention(const InferContext& context) {
  for (size_t k = 0; k < 3; ++k) {
    require_float(context, k);
    context.require(context.inputs[k]->shape.size() >= 2,
                    "query, key and value must be [..., length, depth]");
    context.require(context.inputs[k]->dtype == context.inputs[0]->dtype,
                    "query, key and value must have one dtype");
  }
  const auto dim = [&](size_t k, size_t from_end) {
    const Shape& shape = context.inputs[k]->shape;
    return shape[shape.size() - from_end];
  };
  context.require(may_be_equal(dim(0, 1), dim(1, 1)),
                  str("query has depth ", dim(0, 1), ", key ", dim(1, 1)));
  context.require(may_be_equal(dim(1, 2), dim(2, 2)),
                  str("key has length ", dim(1, 2), ", value ", dim(2, 2)));
  const DType dtype = context.inputs[0]->dtype;
  Shape lse = attention_batch(context);
  lse.push_back(dim(0, 2));
  Shape scores = lse, out = lse;
  scores.push_back(dim(1, 2));
  out.push_back(dim(2, 1));
  check_mask(context, checked_shape(context, scores));
  check_lengths(context, scores);
  const double dropout = number_attr(context.node, "dropout_p");
  context.require(dropout >= 0 && dropout <= 1,
                  str("dropout_p must lie between 0 and 1, not ", dropout));
  require_random_state(context, 5);
  return {{dtype, checked_shape(context, std::move(out))}, {compute_dtype(dtype), lse}};
}

Value* masked_scores(Builder& b, const Node& node, Value* scores) {
  const auto& shape = scores->shape();
  Value* mask = node.inputs[3];
  if (node.attr<bool>("is_causal"))
    mask = b.op("causal_mask", {}, {{"size", Shape{shape[shape.size() - 2], shape.back()}}});
  const auto hide_others = [&](Value* seen) {
    return b.op("where", {seen, scores,
                          b.scalar(scores->dtype(), -std::numeric_limits<double>::infinity())});
  };
  if (mask && mask->dtype() != DType::boolean)
    scores = b.add(scores, b.cast(mask, scores->dtype()));
  else if (mask)
    scores = hide_others(mask);
  if (Value* lengths = node.inputs[4]) {
    Shape one_of_batch(shape.size(), 1);
    one_of_batch.front() = shape.front();
    Value* key = b.op("iota", {}, {{"size", Shape{shape.back()}}, {"dtype", lengths->dtype()}});
    scores = hide_others(b.op("lt", {key, b.reshape(lengths, one_of_batch)}));
  }
  return scores;
}

std::vector<Value*> compose_attention(Builder& b, const Node& node) {
  Value* query = node.inputs[0];
  Value* key = node.inputs[1];
  Value* value = node.inputs[2];
  const DType dtype = query->dtype();
  const Shape out = node.outputs[0]->shape();
  // Query heads that share a key head are rows of one product with it: [..., heads, L, .] as [...,
  // key heads, group * L, .].
  const bool grouped = node.attr<bool>("enable_gqa");
  const auto regroup = [&](Value* x) {
    Shape shape = x->shape();
    if (!grouped) return x;
    const SymInt& heads = shape[shape.size() - 3];
    const SymInt& shared = key->shape()[key->shape().size() - 3];
    shape[shape.size() - 2] = shape[shape.size() - 2] * floordiv(heads, shared);
    shape[shape.size() - 3] = shared;
    return b.reshape(x, shape);
  };
  if (key->shape()[key->shape().size() - 2].is(0))  // sums over no keys
    return {b.splat(dtype, out, 0), b.splat(node.outputs[1]->dtype(), node.outputs[1]->shape(),
                                            -std::numeric_limits<double>::infinity())};
  double scale = number_attr(node, "scale");
  if (scale == 0) {
    const SymInt& depth = query->shape().back();
    if (!depth.is_const())
      fail_input("scaled_dot_product_attention: the depth ", depth,
                 " stays open: give 'scale', or a number for the depth");
    scale = 1 / std::sqrt(static_cast<double>(depth.value()));
  }
  Value* scores = b.compute(b.op("matmul", {regroup(query), b.transpose(key, -2, -1)}));
  if (grouped) {
    Shape shape(out.begin(), out.end() - 1);
    shape.push_back(key->shape()[key->shape().size() - 2]);
    scores = b.reshape(scores, shape);
  }
  scores = b.mul(scores, b.scalar(scores->dtype(), scale));
  scores = masked_scores(b, node, scores);

  const SoftmaxParts parts = softmax_parts(b, scores);
  Value* weights = b.cast(parts.weights, dtype);
  if (node.attr<bool>("safe_softmax")) weights = without_nan(b, weights);
  if (const double dropout = number_attr(node, "dropout_p"); dropout > 0)
    weights = b.op("dropout", {weights, node.inputs[5]},
                   {{"p", dropout},
                    {"training", true},
                    {"seed", node.attr<int64_t>("seed")},
                    {"offset", node.attr<int64_t>("offset")}});
  Value* result = b.reshape(b.matmul(regroup(weights), value), out);
  // The batch dims of value may be more than those of the scores.
  Shape kept = node.outputs[1]->shape();
  kept.push_back(1);
  return {result, b.reshape(b.expand(parts.lse, kept), node.outputs[1]->shape())};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "scaled_dot_product_attention";
  op.kind = OpKind::composite;
  op.operands = {"query", "key", "value", "attn_mask?", "key_lengths?", "random_state?"};
  op.attrs = {{"is_causal", AttrType::boolean, false},
              {"scale", AttrType::number, 0.0},  // 0: 1 / sqrt(depth)
              {"enable_gqa", AttrType::boolean, false},
              {"safe_softmax", AttrType::boolean, false},
              {"dropout_p", AttrType::number, 0.0},
              size_attr({"seed", AttrType::integer, int64_t{0}}),
              size_attr({"offset", AttrType::integer, int64_t{0}})};
  op.results = {"out", "logsumexp"};
  op.doc =
      "softmax(query key^T * scale + attn_mask) value, and the log-sum-exp of the scores; a bool "
      "mask is true where a "
      "query sees a key, and a query that sees none gives NaN, or 0 with safe_softmax or where "
      "there "
      "are no keys at all; of batch b "
      "(the first dim), the first key_lengths[b] keys are seen (i32 or i64 [batch]); "
      "weights are dropped as `dropout` does with probability dropout_p, seed, offset and "
      "random_state (i64 [2]); "
      "torch.nn.functional.scaled_dot_product_attention";
  op.infer = infer_attention;
  op.compose = compose_attention;
  using enum DType;
  const Attrs causal = {{"is_causal", true}};
  op.samples = {
      {{{f32, {2, 3, 5, 8}}, {f32, {2, 3, 7, 8}}, {f32, {2, 3, 7, 6}}}},
      {{{f32, {2, 3, 9, 8}}, {f32, {2, 3, 9, 8}}, {f32, {2, 3, 9, 8}}}, causal},
      {{{f32, {1, 2, 4, 8}}, {f32, {1, 2, 6, 8}}, {f32, {1, 2, 6, 8}}}, causal},
      {{{f32, {5, 8}}, {f32, {7, 8}}, {f32, {7, 8}}}, {{"scale", 0.5}}},
      {{{f32, {2, 4, 3, 8}}, {f32, {2, 2, 5, 8}}, {f32, {2, 2, 5, 8}}}, {{"enable_gqa", true}}},
      {{{f32, {1, 2, 4, 8}}, {f32, {1, 2, 6, 8}}, {f32, {1, 2, 6, 8}}, {f32, {4, 6}}}},
      {.inputs = {{f32, {2, 4, 8}}, {f32, {2, 16, 8}}, {f32, {2, 16, 8}}, {boolean, {4, 16}}},
       .int_hi = 2},
      {.inputs = {{f32, {3, 4, 8}}, {f32, {3, 2, 8}}, {f32, {3, 2, 8}}, {boolean, {3, 4, 2}}},
       .attrs = {{"safe_softmax", true}},
       .int_hi = 2},
      {.inputs = {{f32, {3, 2, 4, 8}},
                  {f32, {3, 2, 9, 8}},
                  {f32, {3, 2, 9, 8}},
                  {f32, {4, 9}},
                  {i32, {3}}},
       .attrs = {{"safe_softmax", true}},
       .int_hi = 10},
      {.inputs = {{f32, {2, 3, 5, 8}},
                  {f32, {2, 3, 7, 8}},
                  {f32, {2, 3, 7, 6}},
                  {f32, {5, 7}},
                  {i32, {2}},
                  {i64, {2}}},
       .attrs = {{"dropout_p", 0.3}, {"seed", 7}, {"safe_softmax", true}}},
      {{{f32, {2, 1, 4, 8}}, {f32, {2, 1, 3, 8}}, {f32, {2, 1, 3, 8}}, {f32, {2, 1, 1, 3}}}},
      {{{f32, {1, 1, 1, 1}}, {f32, {1, 1, 1, 1}}, {f32, {1, 1, 1, 1}}}},
      {{{f32, {2, 3, 5, 8}}, {f32, {2, 3, 0, 8}}, {f32, {2, 3, 0, 6}}, {f32, {5, 0}}}},
      {{{f16, {1, 2, 33, 64}}, {f16, {1, 2, 33, 64}}, {f16, {1, 2, 33, 64}}}, causal},
      {{{bf16, {1, 4, 16, 32}}, {bf16, {1, 2, 20, 32}}, {bf16, {1, 2, 20, 32}}},
       {{"enable_gqa", true}}},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_scaled_dot_product_attention
