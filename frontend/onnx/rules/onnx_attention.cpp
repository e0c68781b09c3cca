// Attention and RotaryEmbedding of ONNX itself (opset 23 on).
#include <cmath>
#include <limits>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_attention.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value* both(OpNode& n, Value* a, Value* b) {
  return a && b ? n.b.op("logical_and", {a, b}) : a ? a : b;
}

// Query, key and value as [B, heads, length, D]; the caches, and what hides keys.
struct Attention {
  Value *query, *key, *value;
  Value* visible = nullptr;   // bool: which keys a query sees
  Value* added = nullptr;     // numbers, added to the scores
  bool causal = false;        // also: key j of query i only where j <= i
  bool may_hide_all = false;  // a query may see no key; its result is 0
  double scale = 0;

  SymInt queries() const { return query->shape()[2]; }
  SymInt keys() const { return key->shape()[2]; }
  bool grouped() const { return !(query->shape()[1] == key->shape()[1]); }
};

// The mask, whose last dim may be shorter than the keys: the rest is hidden.
void add_mask(OpNode& n, Attention& a, Value* mask) {
  if (!mask) return;
  a.may_hide_all = true;
  n.require(mask->rank() >= 1, "attn_mask must have a dim");
  const bool truth = mask->dtype() == DType::boolean;
  const SymInt missing = a.keys() - mask->shape().back();
  n.require(!missing.is_const() || missing.value() >= 0,
            str("attn_mask is for ", mask->shape().back(), " keys, not ", a.keys()));
  if (truth) mask = n.b.cast(mask, DType::u8);  // to be padded
  if (!truth && !is_float(mask->dtype())) mask = n.b.cast(mask, DType::f32);
  if (!missing.is(0))
    mask = n.b.op("pad", {mask}, {{"pad", Shape{0, missing}}, {"value", truth ? 0 : -kInfinity}});
  (truth ? a.visible : a.added) = truth ? n.b.cast(mask, DType::boolean) : mask;
}

// Positions hide keys by three rules: is_causal, the window, and padding behind the keys of each
// sequence. Query i stands behind `offset` keys.
void add_positions(OpNode& n, Attention& a, Value* past, Value* lengths) {
  const bool causal = n.flag("is_causal", false);
  const int64_t left = n.integer("left_window_size", -1),
                right = n.integer("right_window_size", -1);
  n.require(left >= -1 && right >= -1, "a window size must be -1 or more");
  const bool windowed = left >= 0 || right >= 0;
  if (causal && !windowed && !lengths && !past && !a.visible && !a.added) {
    a.causal = true;
    return;
  }
  Value* key = positions(n, a.keys());
  const SymInt batch = a.query->shape()[0];
  const SymInt before = past ? past->shape()[2] : SymInt(0);
  Value* rows = nullptr;  // where the queries stand
  if (lengths) {
    n.require(lengths->rank() == 1, "nonpad_kv_seqlen must be [batch]");
    lengths = n.b.reshape(n.b.cast(lengths, DType::i64), {batch, 1, 1, 1});
    a.visible = both(n, a.visible, n.b.op("lt", {key, lengths}));
    Value* offset = n.b.sub(lengths, scalar(n, a.queries()));
    rows = n.b.add(n.b.unsqueeze(positions(n, a.queries()), 1), offset);  // [B, 1, S, 1]
  } else {
    rows = n.b.unsqueeze(positions_from(n, before, a.queries()), 1);
  }
  const auto shifted = [&](int64_t by) {
    return by == 0 ? rows : n.b.add(rows, n.b.scalar(DType::i64, static_cast<double>(by)));
  };
  if (causal && !windowed && !lengths) {
    a.visible = both(n, a.visible, causal_keys(n, a.queries(), a.keys(), before));
    return;
  }
  if (causal) a.visible = both(n, a.visible, n.b.op("le", {key, rows}));
  if (left >= 0) a.visible = both(n, a.visible, n.b.op("ge", {key, shifted(-left)}));
  if (right >= 0) a.visible = both(n, a.visible, n.b.op("le", {key, shifted(right)}));
  a.may_hide_all |= windowed || lengths;
}

// All that is added to the scores: the numbers, and -inf where a key is hidden. Null: nothing.
Value* bias_of(OpNode& n, const Attention& a) {
  Value* visible = a.visible;
  if (a.causal) visible = causal_keys(n, a.queries(), a.keys(), 0);
  if (!visible) return a.added ? n.b.compute(a.added) : nullptr;
  const DType dtype = a.added ? compute_dtype(a.added->dtype()) : DType::f32;
  Value* numbers = a.added ? n.b.compute(a.added) : n.b.scalar(dtype, 0);
  return n.b.op("where", {visible, numbers, n.b.scalar(dtype, -kInfinity)});
}

// bool [..., S, 1]: the query sees a key.
Value* sees_any(OpNode& n, const Attention& a) {
  Value* mask = a.visible;
  if (a.added) {
    Value* bias = bias_of(n, a);
    mask = n.b.op("ne", {bias, like(n, bias, -kInfinity)});
  }
  if (mask->rank() < 2) mask = n.b.unsqueeze(mask, 0);
  return n.b.reduce("any", mask, {-1}, true);
}

Value* zero_where_blind(OpNode& n, const Attention& a, Value* y) {
  return a.may_hide_all ? n.b.op("where", {sees_any(n, a), y, like(n, y, 0)}) : y;
}

Value* by_one_op(OpNode& n, const Attention& a) {
  const Value* mask = a.visible || a.added ? a.visible : nullptr;
  Value* given = a.added ? bias_of(n, a) : const_cast<Value*>(mask);
  return n.b.op(
      "scaled_dot_product_attention", {a.query, a.key, a.value, given},
      {{"scale", a.scale}, {"enable_gqa", a.grouped()}, {"is_causal", a.causal && !given}});
}

// Heads that share a key head are rows of one product with it.
Value* product(OpNode& n, Value* x, Value* shared) {
  const Shape shape = x->shape(), other = shared->shape();
  const SymInt group = ir::floordiv(shape[1], other[1]);
  Value* y = n.b.matmul(n.b.reshape(x, {shape[0], other[1], group * shape[2], shape[3]}), shared);
  return n.b.reshape(y, {shape[0], shape[1], shape[2], other[3]});
}

// Step by step: with softcap, or with the scores as a result.
struct Steps {
  Value *result, *scores;
};
Steps by_steps(OpNode& n, const Attention& a, double softcap, int64_t mode, bool in_f64) {
  const DType dtype = a.query->dtype();
  const double depth = static_cast<double>(a.query->shape()[3].value());
  const double scale = a.scale == 0 ? 1 / std::sqrt(depth) : a.scale;
  Value* scores = n.b.compute(product(n, a.query, n.b.transpose(a.key, -2, -1)));
  scores = n.b.mul(scores, like(n, scores, scale));
  Value* shown = scores;
  if (softcap > 0) {
    Value* limit = like(n, scores, softcap);
    scores = n.b.mul(n.b.unary("tanh", n.b.div(scores, limit)), limit);
  }
  if (mode == 1) shown = scores;
  if (Value* bias = bias_of(n, a)) scores = n.b.add(scores, n.b.cast(bias, scores->dtype()));
  if (mode == 2) shown = scores;
  if (in_f64) scores = n.b.cast(scores, DType::f64);
  Value* weights = n.b.op("softmax", {scores}, {{"dim", -1}});
  weights = zero_where_blind(n, a, weights);
  if (mode == 3) shown = weights;
  return {product(n, n.b.cast(weights, dtype), a.value), n.b.cast(shown, dtype)};
}

// (Q, K, V, mask, past key, past value, lengths) -> (Y, present key, present value, scores)
Results standard_attention(OpNode& n) {
  Attention a{n.in(0), n.in(1), n.in(2)};
  Value *past_key = n.maybe(4), *past_value = n.maybe(5), *lengths = n.maybe(6);
  n.require(!past_key == !past_value, "past_key and past_value must both be there");
  n.require(!lengths || !past_key, "nonpad_kv_seqlen excludes past_key and past_value");
  const DType dtype = a.query->dtype();
  const bool is_flat = a.query->rank() == 3;
  const auto heads_of = [&](Value* x, std::string_view attribute) {
    n.require(x->rank() == (is_flat ? 3 : 4), "Q, K and V must all have 3 or all have 4 dims");
    if (is_flat) return split_heads(n, x, n.integer(attribute));
    n.ignore(attribute);  // the shape says it
    return x;
  };
  a.query = heads_of(a.query, "q_num_heads");
  a.key = behind(n, past_key, heads_of(a.key, "kv_num_heads"));
  a.value = behind(n, past_value, heads_of(a.value, "kv_num_heads"));
  const SymInt query_heads = a.query->shape()[1], shared = a.key->shape()[1];
  n.require(query_heads.is_const() && shared.is_const() && shared.value() > 0 &&
                query_heads.value() % shared.value() == 0 && a.value->shape()[1] == shared,
            str(query_heads, " query heads are no multiple of ", shared, " key heads"));
  n.require(a.query->shape()[3].is_const(),
            str("the depth of the heads must be a number (", n.dim_option(), ")"));
  Value *present_key = a.key, *present_value = a.value;
  if (n.has("scale")) a.scale = n.number("scale", 0);
  n.require(!n.has("scale") || a.scale != 0, "a scale of 0 is not supported");
  add_mask(n, a, n.maybe(3));
  add_positions(n, a, past_key, lengths);

  // Key and value may be of another type than the query.
  const DType common = promote(promote(dtype, a.key->dtype()), a.value->dtype());
  for (Value** x : {&a.query, &a.key, &a.value}) *x = n.b.cast(*x, common);
  const double softcap = n.number("softcap", 0);
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  n.require(mode >= 0 && mode <= 3, str("qk_matmul_output_mode ", mode, " is unknown"));
  const auto precision = n.dtype_attr("softmax_precision");
  const bool in_f64 = precision == DType::f64 && common != DType::f64;
  Value *y = nullptr, *scores = nullptr;
  if (softcap > 0 || n.wants(3) || in_f64) {
    const Steps steps = by_steps(n, a, softcap, mode, in_f64);
    y = steps.result;
    scores = n.b.cast(steps.scores, dtype);
  } else {
    y = zero_where_blind(n, a, by_one_op(n, a));
  }
  y = n.b.cast(y, dtype);
  return {is_flat ? merge_heads(n, y) : y, present_key, present_value, scores};
}

// (x, cos, sin, positions): without positions, cos and sin are those of every token.
Results standard_rotary_embedding(OpNode& n) {
  Value *x = n.in(0), *cos = n.in(1), *sin = n.in(2), *ids = n.maybe(3);
  n.require(x->rank() == 3 || x->rank() == 4, "X must have 3 or 4 dims");
  const bool is_flat = x->rank() == 3;
  const int64_t heads = n.integer("num_heads", 0);
  n.require(!is_flat || heads > 0, "num_heads must be given for an X of 3 dims");
  Value* split = is_flat ? split_heads(n, x, heads) : x;
  const bool interleaved = n.flag("interleaved", false);
  const int64_t partly = n.integer("rotary_embedding_dim", 0);
  const SymInt rotated = partly == 0 ? split->shape()[3] : SymInt(partly);
  n.require(cos->rank() > 0 && cos->shape().back() * 2 == rotated,
            str("cos_cache has ", cos->rank() > 0 ? cos->shape().back() : SymInt(0),
                " columns for ", rotated, " rotated elements"));
  n.require(cos->rank() == (ids ? 2 : 3),
            "cos_cache must be [positions, half] with position_ids, else [batch, length, half]");
  Value* y = ids ? rotate(n, split, ids, cos, sin, interleaved)
                 : rotate_by(n, split, cos, sin, interleaved);
  return {is_flat ? merge_heads(n, y) : y};
}

constexpr Rule kOnnxAttentionRules[] = {{"Attention", standard_attention},
                                        {"RotaryEmbedding", standard_rotary_embedding}};

}  // namespace

std::span<const Rule> onnx_attention_rules() { return kOnnxAttentionRules; }

}  // namespace tcc::onnx
