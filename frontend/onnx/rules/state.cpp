// These operators carry a state from one call to the next: TensorScatter, LinearAttention and
// CausalConvWithState.
#include <cmath>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_attention.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

constexpr int64_t kMaxSteps = 10000;

// The cache with `update` from position write_indices[b] on along `axis`.
Results tensor_scatter(OpNode& n) {
  Value *cache = n.in(0), *update = n.in(1), *first = n.maybe(2);
  const int64_t axis = n.axis(n.integer("axis", -2), cache->rank());
  const std::string mode = n.text("mode", "linear");
  n.require(mode == "linear" || mode == "circular", "mode must be linear or circular");
  n.require(axis > 0, "axis must not be that of the batch");
  n.require(cache->rank() == update->rank() && cache->dtype() == update->dtype(),
            "update must have the type and the rank of past_cache");
  const auto d = static_cast<size_t>(axis);
  const SymInt batch = cache->shape()[0], length = cache->shape()[d], count = update->shape()[d];
  if (count.is(0)) return {cache};
  // Each position of the cache takes this element of the update.
  Value* at = positions(n, length);
  if (first) at = n.b.sub(at, n.b.reshape(n.b.cast(first, DType::i64), {batch, 1}));
  if (mode == "circular") at = n.b.op("remainder", {at, scalar(n, length)});
  Value* zero = n.b.scalar(DType::i64, 0);
  Value* is_new =
      n.b.op("logical_and", {n.b.op("ge", {at, zero}), n.b.op("lt", {at, scalar(n, count)})});
  Value* row = n.b.op("minimum", {n.b.op("maximum", {at, zero}), scalar(n, count - 1)});
  const auto along = [&](Value* x) {
    Shape shape(static_cast<size_t>(cache->rank()), 1);
    if (first) shape[0] = batch;
    shape[d] = length;
    return n.b.reshape(x, shape);
  };
  Value* rows =
      n.b.op("take_along_dim", {update, n.b.expand(along(row), cache->shape())}, {{"dim", axis}});
  return {n.b.op("where", {along(is_new), rows, cache})};
}

// ---- LinearAttention: state [B, heads, K, V], a step for each token

struct Recurrence {
  Value *query, *key, *value;               // [B, heads, T, D], in f32
  Value *decay = nullptr, *beta = nullptr;  // [B, heads or 1, T, K or 1]: factors
};

// Token `t` as [B, heads, D, 1] (or [B, heads, 1, D]).
Value* token(OpNode& n, Value* x, int64_t t, bool as_row) {
  Value* slice = n.b.slice(x, 2, t, t + 1);
  return as_row ? slice : n.b.transpose(slice, 2, 3);
}

// [B, T, heads * D] of one D, or of one number per head.
Value* split_float(OpNode& n, Value* x, int64_t heads) {
  return split_heads(n, n.b.cast(x, DType::f32), heads);
}

Recurrence parts_of(OpNode& n, int64_t heads, int64_t shared) {
  const std::string rule = n.text("update_rule", "gated_delta");
  n.require(rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta",
            "update_rule must be linear, gated, delta or gated_delta");
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  Value *decay = n.maybe(4), *beta = n.maybe(5);
  n.require(gated == (decay != nullptr),
            str("decay is for the rules gated and gated_delta, not ", rule));
  n.require(delta == (beta != nullptr),
            str("beta is for the rules delta and gated_delta, not ", rule));
  Recurrence r{split_float(n, n.in(0), heads), split_float(n, n.in(1), shared),
               split_float(n, n.in(2), shared)};
  const SymInt depth = r.key->shape()[3];
  n.require(r.query->shape()[3] == depth && depth.is_const() && depth.value() > 0,
            str("query has depth ", r.query->shape()[3], ", key ", depth));
  if (gated) {
    r.decay = n.b.unary("exp", split_float(n, decay, shared));
    const SymInt width = r.decay->shape()[3];
    n.require(width.is(1) || width == depth, str("decay has ", width, " numbers for ", depth));
  }
  if (delta) {
    n.require(beta->rank() == 3, "beta must be [batch, length, heads or 1]");
    r.beta = split_float(n, beta, beta->shape()[2].is(1) ? 1 : shared);
    n.require(r.beta->shape()[3].is(1), "beta must be [batch, length, heads or 1]");
  }
  return r;
}

Results linear_attention(OpNode& n) {
  const int64_t heads = n.integer("q_num_heads"), shared = n.integer("kv_num_heads");
  n.require(heads > 0 && shared > 0 && heads % shared == 0,
            "q_num_heads must be a multiple of kv_num_heads");
  n.ignore("chunk_size");  // a hint
  const Recurrence r = parts_of(n, heads, shared);
  const SymInt batch = r.query->shape()[0], length = r.query->shape()[2];
  const SymInt depth = r.key->shape()[3], width = r.value->shape()[3];
  n.require(length.is_const(),
            str("the length ", length, " must be a number; bind it (", n.dim_option(), ")"));
  n.require(length.value() <= kMaxSteps,
            str("more than ", kMaxSteps, " tokens cannot be unrolled"));
  const double given = n.number("scale", 0);
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(depth.value())) : given;

  Value* past = n.maybe(3);
  const DType kept = past ? past->dtype() : n.in(0)->dtype();
  const Shape state_shape = {batch, shared, depth, width};
  Value* state = past ? n.b.cast(past, DType::f32) : n.b.splat(DType::f32, state_shape, 0);
  n.require(state->shape() == state_shape, "past_state must be [batch, kv heads, key, value]");
  std::vector<Value*> results;
  for (int64_t t = 0; t < length.value(); ++t) {
    Value *key = token(n, r.key, t, false), *value = token(n, r.value, t, true);
    if (r.decay) state = n.b.mul(state, token(n, r.decay, t, false));
    if (r.beta) {
      Value* known = n.b.reduce("sum", n.b.mul(state, key), {2}, true);
      value = n.b.mul(token(n, r.beta, t, true), n.b.sub(value, known));
    }
    state = n.b.add(state, n.b.mul(key, value));
    // The query heads that share a state are rows of one product with it.
    Value* query =
        n.b.reshape(n.b.slice(r.query, 2, t, t + 1), {batch, shared, heads / shared, depth});
    results.push_back(n.b.reshape(n.b.matmul(query, state), {batch, 1, SymInt(heads) * width}));
  }
  Value* y = results.empty() ? n.b.splat(DType::f32, {batch, 0, SymInt(heads) * width}, 0)
                             : n.b.op("cat", results, {{"dim", 1}});
  y = n.b.mul(y, like(n, y, scale));
  return {n.b.cast(y, n.in(0)->dtype()), n.b.cast(state, kept)};
}

// ---- CausalConvWithState

// A depthwise convolution over the state and x; the last elements of both are the next state.
Results causal_conv(OpNode& n) {
  Value *x = n.in(0), *weight = n.in(1), *bias = n.maybe(2), *past = n.maybe(3);
  n.require(x->rank() == 3 && weight->rank() == 3, "input and weight must have 3 dims");
  const std::string activation = n.text("activation", "none");
  n.require(activation == "none" || activation == "silu" || activation == "swish",
            "activation must be none, silu or swish");
  const SymInt channels = x->shape()[1], taps = weight->shape()[2];
  n.require(channels.is_const() && taps.is_const() && taps.value() > 0,
            str("the numbers of channels and of taps must be known (", n.dim_option(), ")"));
  const SymInt before = taps - 1;
  if (past)
    n.require(past->shape() == Shape{x->shape()[0], channels, before},
              "past_state must be [batch, channels, taps - 1]");
  else
    past = n.b.splat(x->dtype(), {x->shape()[0], channels, before}, 0);
  Value* padded = n.b.op("cat", {past, x}, {{"dim", 2}});
  Value* y = n.b.op("conv1d", {padded, weight, bias}, {{"groups", channels.value()}});
  if (activation != "none") y = n.b.op("silu", {y});
  const SymInt end = padded->shape()[2];
  return {y, n.b.slice(padded, 2, end - before, end)};
}

constexpr Rule kStateRules[] = {
    {"CausalConvWithState", causal_conv},
    {"LinearAttention", linear_attention},
    {"TensorScatter", tensor_scatter},
};

}  // namespace

std::span<const Rule> state_rules() { return kStateRules; }

}  // namespace tcc::onnx
