#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_indexing.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops::op_paged_attention {
namespace {

enum Operand { kQuery, kKeyPages, kValuePages, kBlockTable, kKeyLengths };

std::vector<Type> infer(const InferContext& context) {
  const auto shape = [&](size_t k) -> const Shape& { return context.inputs[k]->shape; };
  for (const size_t k : {kQuery, kKeyPages, kValuePages}) {
    require_float(context, k);
    context.require(
        shape(k).size() == 4,
        "query must be [batch, heads, length, depth], key_pages and value_pages [pages, "
        "page size, key heads, depth]");
    context.require(context.inputs[k]->dtype == context.inputs[kQuery]->dtype,
                    "query, key_pages and value_pages must have one dtype");
  }
  context.require(may_be_equal(shape(kQuery)[3], shape(kKeyPages)[3]),
                  str("query has depth ", shape(kQuery)[3], ", key_pages ", shape(kKeyPages)[3]));
  for (const size_t dim : {0, 1, 2})
    context.require(may_be_equal(shape(kKeyPages)[dim], shape(kValuePages)[dim]),
                    str("key_pages are ", shape_text(shape(kKeyPages)), ", value_pages ",
                        shape_text(shape(kValuePages))));
  context.require(!shape(kKeyPages)[0].is(0), "there are no pages");
  const SymInt &batch = shape(kQuery)[0], &heads = shape(kQuery)[1], &shared = shape(kKeyPages)[2];
  const bool is_known = heads.is_const() && shared.is_const();
  context.require(!is_known || (shared.value() > 0 && heads.divisible_by(shared.value())),
                  str("the ", heads, " query heads are no multiple of the ", shared, " key heads"));
  require_index(context, "block_table", context.inputs[kBlockTable]->dtype);
  require_index(context, "key_lengths", context.inputs[kKeyLengths]->dtype);
  context.require(shape(kBlockTable).size() == 2 && may_be_equal(shape(kBlockTable)[0], batch),
                  str("block_table must be [batch, pages of a sequence], not ",
                      shape_text(shape(kBlockTable))));
  checked_size(context, shape(kBlockTable)[1], shape(kKeyPages)[1]);
  require_shape(context, kKeyLengths, {batch}, "[batch]");
  const DType dtype = context.inputs[kQuery]->dtype;
  const Shape rows = {batch, heads, shape(kQuery)[2]};
  Shape out = rows;
  out.push_back(shape(kValuePages)[3]);
  return {{dtype, checked_shape(context, std::move(out))}, {compute_dtype(dtype), rows}};
}

// The pages of each sequence one after the other: [batch, key heads, keys, depth].
Value* sequences(Builder& b, Value* pages, Value* table) {
  const Shape &of_pages = pages->shape(), &of_table = table->shape();
  Value* numbers =
      b.reshape(b.op("maximum", {table, b.scalar(table->dtype(), 0)}), {of_table[0] * of_table[1]});
  Value* chosen = b.op("index_select", {pages, numbers}, {{"dim", 0}});
  return b.permute(
      b.reshape(chosen, {of_table[0], of_table[1] * of_pages[1], of_pages[2], of_pages[3]}),
      {0, 2, 1, 3});
}

std::vector<Value*> compose(Builder& b, const Node& node) {
  Value *query = node.inputs[kQuery], *table = node.inputs[kBlockTable];
  Value* key = sequences(b, node.inputs[kKeyPages], table);
  Value* value = sequences(b, node.inputs[kValuePages], table);
  const auto numbers = [&](const SymInt& count) {
    return b.op("iota", {}, {{"size", Shape{count}}, {"dtype", DType::i32}});
  };
  const SymInt &batch = query->shape()[0], &queries = query->shape()[2];
  Value* end = b.reshape(b.cast(node.inputs[kKeyLengths], DType::i32), {batch, 1, 1, 1});
  if (node.attr<bool>("is_causal")) {
    Value* last = b.cast(b.op("size_value", {}, {{"size", Shape{queries - 1}}}), DType::i32);
    Value* behind = b.sub(last, numbers(queries));
    end = b.sub(end, b.unsqueeze(behind, 1));
  }
  Value* seen = b.op("lt", {numbers(key->shape()[2]), end});
  return b.ops(
      "scaled_dot_product_attention", {query, key, value, seen},
      {{"scale", number_attr(node, "scale")}, {"enable_gqa", true}, {"safe_softmax", true}});
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "paged_attention";
  op.kind = OpKind::composite;
  op.operands = {"query", "key_pages", "value_pages", "block_table", "key_lengths"};
  op.attrs = {{"is_causal", AttrType::boolean, false},
              {"scale", AttrType::number, 0.0}};  // 0: 1 / sqrt(depth)
  op.results = {"out", "logsumexp"};
  op.doc =
      "Attention of query [batch, heads, queries, depth] to keys and values in pages [pages, page "
      "size, key heads, depth]: key j of sequence b is element j % page size of the page "
      "block_table[b, j / page size] (i32 or i64, clamped to the pages there are), and it sees the "
      "first key_lengths[b] (i32 or i64 [batch]); with is_causal, its last query sees all of them. "
      "A query that sees no key gives 0, and what lies behind the keys must be finite; "
      "flash_attn_with_kvcache";
  op.infer = infer;
  op.compose = compose;
  using enum DType;
  const auto sample = [](DType t, std::vector<int64_t> q, std::vector<int64_t> pages, int64_t depth,
                         int64_t of_sequence, DType index, Attrs attrs) {
    const auto type = [](DType dtype, const std::vector<int64_t>& dims) {
      return Type{dtype, Shape(dims.begin(), dims.end())};
    };
    std::vector<int64_t> values = pages;
    values.back() = depth;
    return OpSample{.inputs = {type(t, q), type(t, pages), type(t, values),
                               type(index, {q[0], of_sequence}), type(index, {q[0]})},
                    .attrs = std::move(attrs),
                    .int_lo = -1,
                    .int_hi = 12};
  };
  op.samples = {
      sample(f32, {2, 2, 3, 8}, {7, 4, 2, 8}, 6, 3, i32, {{"is_causal", true}}),
      sample(f32, {3, 4, 1, 8}, {9, 2, 2, 8}, 8, 5, i64, {}),
      sample(bf16, {2, 6, 2, 16}, {5, 16, 3, 16}, 16, 2, i32, {{"is_causal", true}}),
      sample(f32, {1, 1, 2, 4}, {3, 3, 1, 4}, 4, 3, i32, {{"scale", 0.3}}),
  };
  return op;
}

}  // namespace tcc::ir::ops::op_paged_attention
