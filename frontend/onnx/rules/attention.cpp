// The attention operators of ONNX Runtime, domain com.microsoft.
#include <algorithm>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_attention.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

Value* select(OpNode& n, Value* x, int64_t dim, int64_t index) {
  return n.b.op("select", {x}, {{"dim", dim}, {"index", index}});
}

// The part of a bias, or of what it is added to, that is for query, key or value.
Value* part_of(OpNode& n, Value* x, const Shape& sizes, size_t k) {
  SymInt from = 0;
  for (size_t j = 0; j < k; ++j) from = from + sizes[j];
  return n.b.slice(x, x->rank() - 1, from, from + sizes[k]);
}

Value* more_than(OpNode& n, Value* x, double limit) { return n.b.op("gt", {x, like(n, x, limit)}); }

// Gives what mask_index or key_padding_mask adds to scores [B, N, S, T], in all its forms.
Value* padding_mask(OpNode& n, Value* mask, const Shape& query, const SymInt& keys, double hidden) {
  const SymInt &batch = query[0], &rows = query[2];
  n.require(!is_float(mask->dtype()), "the mask must be of integers");
  const Shape& shape = mask->shape();
  const auto as = [&](const Shape& to) {
    return added_mask(n, more_than(n, n.b.reshape(mask, to), 0), hidden);
  };
  if (shape.size() == 2 && shape[1] == keys) return as({batch, 1, 1, keys});
  if (shape.size() == 3 && shape[1] == rows && shape[2] == keys) return as({batch, 1, rows, keys});
  if (shape.size() == 4 && shape[1].is(1)) {
    // [B, 1, M, M] for the longest sequences: the queries are the last of the keys.
    n.require(keys.is_const() && rows.is_const() && shape[2].is_const() &&
                  shape[2].value() >= keys.value() && shape[3].is_const() &&
                  shape[3].value() >= keys.value(),
              "a 4-D mask must be [batch, 1, M, M] with M the number of keys or more");
    mask = n.b.slice(n.b.slice(mask, 2, keys - rows, keys), 3, 0, keys);
    return added_mask(n, more_than(n, mask, 0), hidden);
  }
  n.require(shape.size() == 1 && (shape[0] == batch || shape[0] == batch * 2),
            str("a mask ", ir::to_string(std::span<const SymInt>(shape)), " for ", keys,
                " keys is not supported: it must be [batch], [2 * batch], [batch, keys], [batch, "
                "queries, keys] or [batch, 1, M, M]"));
  // The upper bound of the keys that each row sees comes first, then the lower bound.
  Value* at = n.b.cast(positions(n, keys), mask->dtype());
  const auto bound = [&](const SymInt& first) {
    return n.b.reshape(n.b.slice(mask, 0, first, first + batch), {batch, 1, 1, 1});
  };
  Value* visible = n.b.op("lt", {at, bound(0)});
  if (!(shape[0] == batch))
    visible = n.b.op("logical_and", {visible, n.b.op("ge", {at, bound(batch)})});
  return added_mask(n, visible, hidden);
}

// The parts that Attention and MultiHeadAttention state alike, once key and value hold the past.
Value* attend_masked(OpNode& n, AttentionParts parts, Value* padding, Value* bias) {
  const SymInt rows = parts.query->shape()[2], keys = parts.key->shape()[2];
  parts.scale = n.number("scale", 0);
  const double hidden = n.number("mask_filter_value", -10000);
  if (padding) parts.added = padding_mask(n, padding, parts.query->shape(), keys, hidden);
  parts.added = sum_of(n, parts.added, bias);
  if (n.flag("unidirectional", false)) parts.visible = causal_keys(n, rows, keys, keys - rows);
  return attend(n, parts);
}

// One matrix for query, key and value.
Results attention(OpNode& n) {
  Value *x = n.in(0), *weight = n.in(1), *bias = n.maybe(2);
  n.require(x->rank() == 3 && weight->rank() == 2, "input and weights must have 3 and 2 dims");
  Value* all = n.b.matmul(x, weight);
  if (bias) all = n.b.add(all, bias);
  return attention_of_projection(n, all, n.maybe(3), n.maybe(4), n.maybe(5));
}

// Query, key and value as [B, N, length, D], from whatever they are packed in.
AttentionParts unpacked(OpNode& n, int64_t heads) {
  Value *query = n.in(0), *key = n.maybe(1), *value = n.maybe(2), *bias = n.maybe(3);
  const auto flat = [&](Value* x) {
    const Shape shape = x->shape();
    return n.b.reshape(x, {shape[0], shape[1], shape[2] * shape[3]});
  };
  if (query->rank() == 5) {  // [B, S, N, 3, D]
    n.require(!key && !value && query->shape()[3].is(3), "a packed query must be [B, S, N, 3, D]");
    key = flat(select(n, query, 3, 1));
    value = flat(select(n, query, 3, 2));
    query = flat(select(n, query, 3, 0));
  } else if (key && key->rank() == 5) {  // [B, T, N, 2, D]
    n.require(!value && key->shape()[3].is(2), "a packed key must be [B, T, N, 2, D]");
    value = flat(select(n, key, 3, 1));
    key = flat(select(n, key, 3, 0));
  }
  n.require(key && value, "key and value are missing");
  n.require(key->rank() == value->rank(), "key and value differ in their number of dims");
  n.require(query->rank() == 3 && (key->rank() == 3 || key->rank() == 4),
            "query must be [B, S, hidden], key and value [B, T, hidden] or [B, N, T, D]");
  const bool is_split = key->rank() == 4;  // [B, N, T, D] already
  if (bias) {
    n.require(!is_split, "a bias for a key that is [B, N, T, D] is not supported");
    const Shape sizes = {query->shape().back(), key->shape().back(), value->shape().back()};
    query = n.b.add(query, part_of(n, bias, sizes, 0));
    key = n.b.add(key, part_of(n, bias, sizes, 1));
    value = n.b.add(value, part_of(n, bias, sizes, 2));
  }
  const auto split = [&](Value* x) { return is_split ? x : split_heads(n, x, heads); };
  return {split_heads(n, query, heads), split(key), split(value)};
}

Results multi_head_attention(OpNode& n) {
  AttentionParts parts = unpacked(n, n.integer("num_heads"));
  Value *padding = n.maybe(4), *added = n.maybe(5), *past_key = n.maybe(6),
        *past_value = n.maybe(7);
  n.require(!past_key == !past_value, "past_key and past_value must both be there");
  n.require(!n.wants(3), "the scores as a result (output 3) are not supported");
  parts.key = behind(n, past_key, parts.key);
  parts.value = behind(n, past_value, parts.value);
  return {attend_masked(n, parts, padding, added), parts.key, parts.value};
}

// ---- GroupQueryAttention

// The cache [B, N, `length`, D] with the S new rows of each sequence from its position `first` ([B,
// 1]) on; elements after them are not used.
Value* filled_cache(OpNode& n, Value* past, Value* fresh, Value* first, const SymInt& length) {
  const Shape shape = fresh->shape();                // [B, N, S, D]
  Value* at = n.b.sub(positions(n, length), first);  // [B, length]
  Value* row =
      n.b.op("clamp", {at}, {{"min", 0.0}, {"max", static_cast<double>(shape[2].value() - 1)}});
  const auto spread = [&](Value* x) {
    return n.b.reshape(x, {x->shape()[0], 1, x->shape()[1], 1});
  };
  const Shape full = {shape[0], shape[1], length, shape[3]};
  Value* rows = n.b.op("take_along_dim", {fresh, n.b.expand(spread(row), full)}, {{"dim", 2}});
  if (!past || past->shape()[2].is(0)) return rows;
  const SymInt missing = length - past->shape()[2];
  if (!missing.is(0)) past = n.b.op("pad", {past}, {{"pad", Shape{0, 0, 0, missing}}});
  Value* is_old = n.b.op("lt", {spread(at), n.b.scalar(DType::i64, 0)});
  return n.b.op("where", {is_old, past, n.b.cast(rows, past->dtype())});
}

Results group_query_attention(OpNode& n) {
  const int64_t heads = n.integer("num_heads"), shared = n.integer("kv_num_heads");
  n.require(heads > 0 && shared > 0 && heads % shared == 0,
            "num_heads must be a multiple of kv_num_heads");
  n.require(n.number("softcap", 0) == 0, "softcap is not supported");
  n.require(n.integer("smooth_softmax", 0) <= 0, "smooth_softmax is not supported");
  Value *query = n.in(0), *key = n.maybe(1), *value = n.maybe(2);
  n.require(query->rank() == 3 && !key == !value, "query, or all three, must be [B, S, hidden]");
  if (!key) {  // packed
    const SymInt depth = ir::floordiv(query->shape()[2], heads + 2 * shared);
    const Shape sizes = {depth * heads, depth * shared, depth * shared};
    key = part_of(n, query, sizes, 1);
    value = part_of(n, query, sizes, 2);
    query = part_of(n, query, sizes, 0);
  }
  AttentionParts parts{split_heads(n, query, heads), split_heads(n, key, shared),
                       split_heads(n, value, shared)};
  Value *past_key = n.maybe(3), *past_value = n.maybe(4);
  n.require(!past_key == !past_value, "past_key and past_value must both be there");
  const SymInt rows = parts.query->shape()[2], batch = parts.query->shape()[0];
  const int64_t total = n.int_of(6);
  const SymInt past = past_key ? past_key->shape()[2] : SymInt(0);
  n.require(rows.is_const() && past.is_const(),
            str("the lengths ", rows, " and ", past, " must be numbers; bind their dims (",
                n.dim_option(), ")"));
  n.require(rows.value() > 0 && total >= rows.value(),
            str("total_sequence_length ", total, " is less than the ", rows, " of the query"));
  // The position of each sequence's first new token. All are new where the total says so.
  const SymInt length = std::max(past.value(), total);
  Value* lengths = n.b.reshape(n.b.cast(n.in(5), DType::i64), {batch, 1});
  Value* first = n.b.add(lengths, n.b.scalar(DType::i64, static_cast<double>(1 - rows.value())));
  if (total == rows.value()) first = n.b.splat(DType::i64, {batch, 1}, 0);
  Value* at = n.b.add(first, positions(n, rows));  // [B, S]
  const bool interleaved = n.flag("rotary_interleaved", false);
  if (n.flag("do_rotary", false)) {
    Value* ids = n.has_input(9) ? n.in(9) : at;
    parts.query = rotate(n, parts.query, ids, n.in(7), n.in(8), interleaved);
    parts.key = rotate(n, parts.key, ids, n.in(7), n.in(8), interleaved);
  }
  parts.key = filled_cache(n, past_key, parts.key, first, length);
  parts.value = filled_cache(n, past_value, parts.value, first, length);
  Value* row = n.b.reshape(at, {batch, 1, rows, 1});
  parts.visible = n.b.op("le", {positions(n, length), row});
  if (const int64_t window = n.integer("local_window_size", -1); window >= 0) {
    Value* oldest = n.b.sub(row, n.b.scalar(DType::i64, static_cast<double>(window)));
    parts.visible =
        n.b.op("logical_and", {parts.visible, n.b.op("gt", {positions(n, length), oldest})});
  }
  parts.added = n.maybe(10);
  parts.scale = n.number("scale", 0);
  parts.grouped = heads != shared;
  return {attend(n, parts), parts.key, parts.value};
}

// ---- RotaryEmbedding

Results rotary_embedding(OpNode& n) {
  Value *x = n.in(0), *ids = n.in(1), *cos = n.in(2), *sin = n.in(3);
  n.require(n.number("scale", 1) == 1, "scale must be 1");
  n.require(!n.flag("is_packed_batching", false), "is_packed_batching is not supported");
  n.require(x->rank() == 3 || x->rank() == 4, "the input must have 3 or 4 dims");
  int64_t heads = n.integer("num_heads", 0);
  n.require(cos->rank() == 2, "cos_cache must have 2 dims");
  const int64_t rotated = n.integer("rotary_embedding_dim", 0);
  n.require(rotated == 0 || cos->shape()[1].is(rotated / 2),
            "cos_cache must have rotary_embedding_dim / 2 columns");
  const bool is_flat = x->rank() == 3;
  if (is_flat && heads == 0) {
    n.require(rotated == 0, "rotary_embedding_dim needs num_heads");
    const SymInt count = ir::floordiv(x->shape()[2], cos->shape()[1] * 2);
    n.require(count.is_const(), "the hidden size must be a number");
    heads = count.value();
  }
  Value* split = is_flat ? split_heads(n, x, heads) : x;
  // The position of the first token, or of every one.
  if (ids->rank() == 1) {
    n.require(ids->shape()[0].is(1), "position_ids must be [1] or [batch, length]");
    ids = n.b.add(n.b.cast(ids, DType::i64), positions(n, split->shape()[2]));
  }
  Value* y = rotate(n, split, ids, cos, sin, n.flag("interleaved", false));
  return {is_flat ? merge_heads(n, y) : y};
}

constexpr Rule kAttentionRules[] = {
    {"Attention", attention, kMicrosoft},
    {"GroupQueryAttention", group_query_attention, kMicrosoft},
    {"MultiHeadAttention", multi_head_attention, kMicrosoft},
    {"RotaryEmbedding", rotary_embedding, kMicrosoft},
};

}  // namespace

// Past and present are [2, B, N, length, D].
Results attention_of_projection(OpNode& n, Value* all, Value* padding, Value* past, Value* added) {
  const int64_t heads = n.integer("num_heads");
  n.require(!n.flag("do_rotary", false), "do_rotary is not supported");
  n.require(!n.flag("past_present_share_buffer", false),
            "past_present_share_buffer is not supported");
  n.ignore("rotary_embedding_dim");
  n.require(all->rank() == 3, "input and weights must have 3 and 2 dims");
  const SymInt columns = all->shape()[2], third = ir::floordiv(columns, 3);
  Shape sizes = {third, third, third};
  if (n.has("qkv_hidden_sizes")) {
    const std::vector<int64_t> given = n.ints_attr("qkv_hidden_sizes");
    sizes.assign(given.begin(), given.end());
  }
  n.require(sizes.size() == 3 && sizes[0] + sizes[1] + sizes[2] == columns,
            "the weights do not have the columns of query, key and value");
  Value* parts[3];
  for (size_t k = 0; k < 3; ++k) parts[k] = split_heads(n, part_of(n, all, sizes, k), heads);
  if (past) {
    parts[1] = behind(n, select(n, past, 0, 0), parts[1]);
    parts[2] = behind(n, select(n, past, 0, 1), parts[2]);
  }
  Value* present = nullptr;
  if (n.wants(1)) present = n.b.op("stack", {parts[1], parts[2]}, {{"dim", 0}});
  return {attend_masked(n, {parts[0], parts[1], parts[2]}, padding, added), present};
}

std::span<const Rule> attention_rules() { return kAttentionRules; }

}  // namespace tcc::onnx
