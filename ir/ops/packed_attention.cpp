#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_indexing.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_packed_attention {
namespace {

enum Operand { kQuery, kKey, kValue, kQueryStarts, kKeyStarts };

std::vector<Type> infer(const InferContext& context) {
  const auto shape = [&](size_t k) -> const Shape& { return context.inputs[k]->shape; };
  for (const size_t k : {kQuery, kKey, kValue}) {
    require_float(context, k);
    context.require(shape(k).size() == 3, "query, key and value must be [length, heads, depth]");
    context.require(context.inputs[k]->dtype == context.inputs[kQuery]->dtype,
                    "query, key and value must have one dtype");
  }
  const auto require_equal = [&](size_t a, size_t b, size_t dim, const char* what) {
    context.require(may_be_equal(shape(a)[dim], shape(b)[dim]),
                    str(context.node.op->operands[a], " has ", what, " ", shape(a)[dim], ", ",
                        context.node.op->operands[b], " ", shape(b)[dim]));
  };
  require_equal(kQuery, kKey, 2, "depth");
  require_equal(kKey, kValue, 0, "length");
  require_equal(kKey, kValue, 1, "heads");
  const SymInt &heads = shape(kQuery)[1], &shared = shape(kKey)[1];
  const bool is_known = heads.is_const() && shared.is_const();
  context.require(!is_known || (shared.value() > 0 && heads.divisible_by(shared.value())),
                  str("the ", heads, " query heads are no multiple of the ", shared, " key heads"));
  for (const size_t k : {kQueryStarts, kKeyStarts}) {
    const Type* starts = context.inputs[k];
    if (!starts) continue;
    const char* name = k == kQueryStarts ? "query_starts" : "key_starts";
    require_index(context, name, starts->dtype);
    context.require(starts->shape.size() == 1 && !starts->shape[0].is(0),
                    str(name, " must be [sequences + 1], not ", shape_text(starts->shape)));
    require_shape(context, k, shape(kQueryStarts), "[sequences + 1]");
  }
  const DType dtype = context.inputs[kQuery]->dtype;
  return {{dtype, checked_shape(context, {shape(kQuery)[0], heads, shape(kValue)[2]})},
          {compute_dtype(dtype), {heads, shape(kQuery)[0]}}};
}

// bool [queries, keys]: a query sees the keys of its sequence, [first, end) of its own.
Value* seen_keys(Builder& b, const Node& node) {
  const auto one = [&] { return b.scalar(DType::i32, 1); };
  const auto numbers = [&](const SymInt& count) {
    return b.op("iota", {}, {{"size", Shape{count}}, {"dtype", DType::i32}});
  };
  Value* of_queries = b.cast(node.inputs[kQueryStarts], DType::i32);
  Value* key_starts = node.inputs[kKeyStarts];
  Value* of_keys = key_starts ? b.cast(key_starts, DType::i32) : of_queries;
  Value* query = numbers(node.inputs[kQuery]->shape()[0]);
  Value* key = numbers(node.inputs[kKey]->shape()[0]);
  // The sequence of each query: as many as end at or before it.
  Value* ends = b.slice(of_queries, 0, 1, of_queries->shape()[0]);
  Value* sequence = b.cast(b.op("searchsorted", {ends, query}, {{"right", true}}), DType::i32);
  Value* next = b.add(sequence, one());  // clamped: behind the last sequence are no keys
  const auto at = [&](Value* starts, Value* index) {
    return b.op("index_select", {starts, index}, {{"dim", 0}});
  };
  Value *first = at(of_keys, sequence), *end = at(of_keys, next);
  if (node.attr<bool>("is_causal")) {
    // As many keys before the sequence's end are hidden as there are queries behind this one.
    Value* behind = b.sub(b.sub(at(of_queries, next), query), one());
    end = b.sub(end, b.op("maximum", {behind, b.scalar(DType::i32, 0)}));
  }
  return b.op("logical_and",
              {b.op("ge", {key, b.unsqueeze(first, 1)}), b.op("lt", {key, b.unsqueeze(end, 1)})});
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  const auto heads_first = [&](Value* x) { return b.permute(x, {1, 0, 2}); };
  const std::vector<Value*> attended =
      b.ops("scaled_dot_product_attention",
            {heads_first(node.inputs[kQuery]), heads_first(node.inputs[kKey]),
             heads_first(node.inputs[kValue]), seen_keys(b, node)},
            {{"scale", number_attr(node, "scale")}, {"enable_gqa", true}, {"safe_softmax", true}});
  return {heads_first(attended[0]), attended[1]};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "packed_attention";
  op.kind = OpKind::composite;
  op.operands = {"query", "key", "value", "query_starts", "key_starts?"};
  op.attrs = {{"is_causal", AttrType::boolean, false},
              {"scale", AttrType::number, 0.0}};  // 0: 1 / sqrt(depth)
  op.results = {"out", "logsumexp"};
  op.doc =
      "Attention of sequences that lie one after the other: query [queries, heads, depth], key and "
      "value [keys, key heads, depth]. Sequence s has the queries query_starts[s] to "
      "query_starts[s + 1] - 1, and the keys of key_starts (default: query_starts), both i32 or "
      "i64 [sequences + 1], ascending from 0; with is_causal, its last query sees all of its keys. "
      "A query that sees no key gives 0; flash_attn_varlen_func";
  op.infer = infer;
  op.compose = compose;
  using enum DType;
  const Attrs causal = {{"is_causal", true}};
  const auto sample = [](const Type& q, const Type& k, const Type& v, DType index, int64_t starts,
                         Attrs attrs = {}) {
    return OpSample{.inputs = {q, k, v, {index, {starts}}, {index, {starts}}},
                    .attrs = std::move(attrs),
                    .int_hi = 12};
  };
  op.samples = {
      sample({f32, {9, 2, 8}}, {f32, {11, 2, 8}}, {f32, {11, 2, 6}}, i32, 3),
      sample({f32, {9, 4, 8}}, {f32, {9, 2, 8}}, {f32, {9, 2, 8}}, i64, 5, causal),
      sample({bf16, {33, 2, 16}}, {bf16, {12, 1, 16}}, {bf16, {12, 1, 16}}, i32, 4, causal),
      {.inputs = {{f32, {7, 1, 4}}, {f32, {7, 1, 4}}, {f32, {7, 1, 4}}, {i32, {2}}}, .int_hi = 8},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_packed_attention
