// Graphs of attention, which tests run on software devices and on GPUs.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/run_graph.h"

namespace tcc::test {

// A size that a graph's text has as a number or, where its dim is open, as a symbol.
struct Extent {
  int64_t number;
  const char* symbol = "";
  constexpr Extent(int64_t size, const char* name = "") : number(size), symbol(name) {}
  constexpr operator int64_t() const { return number; }
  friend std::ostream& operator<<(std::ostream& out, const Extent& e) {
    return *e.symbol ? out << e.symbol : out << e.number;
  }
};

// q, k and v as graph inputs "[batch, heads, length, depth]".
struct AttentionSizes {
  Extent batch = 1;
  int64_t heads = 2, shared = 2;  // key heads
  Extent queries = 5, keys = 7;
  int64_t depth = 8, depth_v = 8;
};

struct AttentionCase {
  std::string name, inputs, nodes, outputs = "[a]";
  std::string dims = "";  // symbols with their usual sizes: "B: 2, Q: 40"
};

inline std::string attention_inputs(const AttentionSizes& s, std::string_view dtype = "f32") {
  const auto input = [&](std::string_view name, int64_t heads, const Extent& length,
                         int64_t depth) {
    return str("  ", name, ": {dtype: ", dtype, ", shape: [", s.batch, ", ", heads, ", ", length,
               ", ", depth, "]}\n");
  };
  return input("q", s.heads, s.queries, s.depth) + input("k", s.shared, s.keys, s.depth) +
         input("v", s.shared, s.keys, s.depth_v);
}

inline const std::string kOp = "  - {out: [a], op: scaled_dot_product_attention, in: [q, k, v]}\n";

// The product of q and k as "s", then `nodes`, which make "x" of it, then the rest.
inline std::string spelled_out(const std::string& nodes) {
  return "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
         "  - {out: s, op: matmul, in: [q, kt]}\n" +
         nodes +
         "  - {out: p, op: softmax, in: [x], dim: -1}\n"
         "  - {out: a, op: matmul, in: [p, v]}\n";
}

// The numbers of queries and keys as "i" and "j".
inline std::string numbers(const AttentionSizes& s, std::string_view dtype = "i64") {
  const auto range = [&](const char* name, const Extent& size) {
    if (*size.symbol)
      return str("  - {out: ", name, ", op: iota, size: [", size, "], dtype: ", dtype, "}\n");
    return str("  - {out: ", name, ", op: arange, start: 0, end: ", size,
               ", step: 1, dtype: ", dtype, "}\n");
  };
  return range("j", s.keys) + range("i0", s.queries) +
         "  - {out: i, op: unsqueeze, in: [i0], dim: 1}\n";
}

inline std::string masked_by(const std::string& condition) {
  return condition +
         "  - {out: sc, op: mul, in: [s, 0.3]}\n"
         "  - {out: x, op: where, in: [seen, sc, -.inf]}\n";
}

inline AttentionCase sized(const AttentionSizes& s, std::string_view dtype,
                           const std::string& attrs) {
  std::string name = str(dtype, "_", s.batch, "x", s.heads, "o", s.shared, "x", s.queries, "x",
                         s.keys, "x", s.depth, "x", s.depth_v);
  if (attrs.find("causal") != attrs.npos) name += "_causal";
  return {name, attention_inputs(s, dtype),
          str("  - {out: [a, l], op: scaled_dot_product_attention, in: [q, k, v]",
              s.shared == s.heads ? "" : ", enable_gqa: true", attrs, "}\n"),
          "[a, l]"};
}

inline std::vector<AttentionCase> sizes() {
  std::vector<AttentionCase> cases;
  const AttentionSizes all[] = {
      {1, 2, 2, 1, 2, 1, 1},      {1, 1, 1, 5, 7, 1, 3},       {2, 3, 3, 197, 197, 64, 64},
      {1, 2, 2, 33, 65, 40, 40},  {1, 8, 2, 1, 300, 128, 128}, {2, 1, 1, 20, 41, 72, 72},
      {1, 2, 2, 65, 33, 80, 24},  {1, 1, 1, 31, 33, 96, 96},   {1, 2, 1, 16, 129, 128, 64},
      {1, 2, 2, 9, 21, 256, 256}, {2, 6, 2, 40, 33, 16, 17},   {1, 4, 1, 3, 64, 32, 2},
  };
  for (const AttentionSizes& s : all)
    for (const char* attrs : {"", ", is_causal: true"}) cases.push_back(sized(s, "f32", attrs));
  for (const char* dtype : {"f16", "bf16"})
    for (const AttentionSizes& s : {all[3], all[4], all[10]})
      cases.push_back(sized(s, dtype, ", is_causal: true, safe_softmax: true"));
  return cases;
}

inline std::vector<AttentionCase> score_expressions() {
  const AttentionSizes s = {2, 3, 3, 70, 90, 24, 20};
  const std::string in = attention_inputs(s), scale = "  - {out: x0, op: mul, in: [s, 0.3]}\n";
  const auto condition = [&](const std::string& nodes) {
    return spelled_out(masked_by(numbers(s) + nodes));
  };
  return {
      {"plain", in, spelled_out("  - {out: x, op: mul, in: [s, 1.0]}\n")},
      {"negative_scale", in, spelled_out("  - {out: x, op: mul, in: [s, -0.3]}\n")},
      {"divided", in, spelled_out("  - {out: x, op: div, in: [s, 3.0]}\n")},
      {"soft_cap", in,
       spelled_out("  - {out: c, op: div, in: [s, 5.0]}\n  - {out: t, op: tanh, in: [c]}\n"
                   "  - {out: x, op: mul, in: [t, 5.0]}\n")},
      {"alibi", in + "  m: {dtype: f32, shape: [3, 1, 1]}\n",
       spelled_out(numbers(s, "f32") +
                   "  - {out: d, op: sub, in: [j, i]}\n  - {out: b, op: mul, in: [d, m]}\n" +
                   scale + "  - {out: x, op: add, in: [x0, b]}\n")},
      {"bias", in + "  b: {dtype: f32, shape: [3, 70, 90]}\n",
       spelled_out(scale + "  - {out: x, op: add, in: [x0, b]}\n")},
      {"padding_mask", in + "  b: {dtype: bool, shape: [2, 1, 1, 90]}\n",
       spelled_out(scale + "  - {out: x, op: where, in: [b, x0, -1000.0]}\n")},
      {"additive_condition", in,
       spelled_out(numbers(s) + scale +
                   "  - {out: seen, op: le, in: [j, i]}\n"
                   "  - {out: b, op: where, in: [seen, 0.0, -.inf]}\n"
                   "  - {out: x, op: add, in: [x0, b]}\n")},
      {"masked_before_scale", in,
       spelled_out(numbers(s) + "  - {out: seen, op: gt, in: [j, i]}\n"
                                "  - {out: x0, op: where, in: [seen, -.inf, s]}\n"
                                "  - {out: x, op: mul, in: [x0, 0.3]}\n")},
      {"causal_offset", in,
       condition("  - {out: i20, op: add, in: [i, 20]}\n  - {out: seen, op: le, in: [j, i20]}\n")},
      {"window", in,
       condition("  - {out: d, op: sub, in: [i, j]}\n  - {out: w0, op: lt, in: [d, 9]}\n"
                 "  - {out: w1, op: le, in: [j, i]}\n"
                 "  - {out: seen, op: logical_and, in: [w0, w1]}\n")},
      {"prefix", in,
       condition("  - {out: w0, op: le, in: [j, i]}\n  - {out: w1, op: lt, in: [j, 13]}\n"
                 "  - {out: seen, op: logical_or, in: [w0, w1]}\n")},
      {"not_before", in,
       condition("  - {out: w, op: lt, in: [j, i]}\n  - {out: seen, op: logical_not, in: [w]}\n")},
      {"documents",
       in + "  di: {dtype: i32, shape: [2, 1, 70, 1], range: [0, 2]}\n" +
           "  dj: {dtype: i32, shape: [2, 1, 1, 90], range: [0, 2]}\n",
       spelled_out(masked_by("  - {out: seen, op: eq, in: [di, dj]}\n"))},
      {"lengths", in + "  n: {dtype: i32, shape: [2, 1, 1, 1], range: [1, 90]}\n",
       spelled_out(masked_by(numbers(s, "i32") + "  - {out: seen, op: lt, in: [j, n]}\n"))},
      {"no_keys_seen", in + "  n: {dtype: i32, shape: [2, 1, 1, 1], range: [0, 1]}\n",
       spelled_out(masked_by(numbers(s, "i32") + "  - {out: seen, op: lt, in: [j, n]}\n"))},
      {"scaled_operands", in,
       "  - {out: q1, op: mul, in: [q, 0.5]}\n  - {out: k1, op: mul, in: [k, 0.7]}\n"
       "  - {out: kt, op: transpose, in: [k1], dim0: -1, dim1: -2}\n"
       "  - {out: s, op: matmul, in: [q1, kt]}\n  - {out: t, op: tanh, in: [s]}\n"
       "  - {out: p, op: softmax, in: [t], dim: -1}\n  - {out: a, op: matmul, in: [p, v]}\n"},
      {"keys_first", in,
       "  - {out: qt, op: transpose, in: [q], dim0: -1, dim1: -2}\n"
       "  - {out: s, op: matmul, in: [k, qt]}\n  - {out: st, op: transpose, in: [s], dim0: -1, "
       "dim1: -2}\n  - {out: p, op: softmax, in: [st], dim: -1}\n"
       "  - {out: a, op: matmul, in: [p, v]}\n"},
      {"result_transposed", in,
       "  - {out: qt, op: transpose, in: [q], dim0: -1, dim1: -2}\n"
       "  - {out: s, op: matmul, in: [k, qt]}\n  - {out: p, op: softmax, in: [s], dim: -2}\n"
       "  - {out: vt, op: transpose, in: [v], dim0: -1, dim1: -2}\n"
       "  - {out: a, op: matmul, in: [vt, p]}\n"},
  };
}

// Rows with one score of +inf, one of NaN, and none but -inf.
inline std::vector<AttentionCase> scores_not_finite() {
  const AttentionSizes s = {1, 2, 2, 70, 90, 24, 20};
  std::vector<AttentionCase> cases;
  const auto at = [](const std::string& name, int64_t row, const std::string& value,
                     const std::string& before) {
    return str("  - {out: ", name, "_row, op: eq, in: [i, ", row, "]}\n  - {out: ", name,
               "_key, op: ", name == "least" ? "ge" : "eq", ", in: [j, ", name == "least" ? 0 : 7,
               "]}\n  - {out: ", name, "_at, op: logical_and, in: [", name, "_row, ", name,
               "_key]}\n  - {out: ", name, ", op: where, in: [", name, "_at, ", value, ", ", before,
               "]}\n");
  };
  for (const std::string dtype : {"f32", "bf16"})
    for (const std::string safe : {"true", "false"})
      cases.push_back(
          {str("not_finite_", dtype, "_", safe == "true" ? "safe" : "plain"),
           attention_inputs(s, dtype),
           str(numbers(s, "i32"), at("most", 2, ".inf", "0.0"), at("nan", 4, ".nan", "most"),
               at("least", 66, "-.inf", "nan"),
               "  - {out: m, op: cast, in: [least], dtype: ", dtype,
               "}\n  - {out: [a, l], op: scaled_dot_product_attention, in: [q, k, v, m], "
               "safe_softmax: ",
               safe, "}\n"),
           "[a, l]"});
  return cases;
}

inline std::vector<AttentionCase> layouts() {
  const AttentionSizes s = {2, 4, 4, 19, 19, 16, 16};
  const std::string in = attention_inputs(s);
  const std::string heads = "shape: [2, 19, 4, 16]}\n";
  const auto head = [&](const std::string& name, int64_t part) {
    return str("  - {out: ", name, "0, op: slice, in: [qkv], dim: -1, start: ", part * 64,
               ", end: ", part * 64 + 64, "}\n  - {out: ", name, "1, op: reshape, in: [", name,
               "0], ", heads, "  - {out: ", name, ", op: permute, in: [", name,
               "1], dims: [0, 2, 1, 3]}\n");
  };
  const std::string fused = head("q", 0) + head("k", 1) + head("v", 2);
  return {
      {"vectors",
       "  q: {dtype: f32, shape: [5, 8]}\n  k: {dtype: f32, shape: [7, 8]}\n"
       "  v: {dtype: f32, shape: [7, 6]}\n",
       kOp},
      {"one_batch_dim",
       "  q: {dtype: f32, shape: [3, 5, 8]}\n  k: {dtype: f32, shape: [3, 7, 8]}\n"
       "  v: {dtype: f32, shape: [3, 7, 6]}\n",
       kOp},
      {"three_batch_dims",
       "  q: {dtype: f32, shape: [2, 3, 2, 5, 8]}\n  k: {dtype: f32, shape: [2, 3, 2, 7, 8]}\n"
       "  v: {dtype: f32, shape: [2, 3, 2, 7, 6]}\n",
       kOp},
      {"shared_keys",
       "  q: {dtype: f32, shape: [3, 5, 8]}\n  k: {dtype: f32, shape: [1, 7, 8]}\n"
       "  v: {dtype: f32, shape: [1, 7, 6]}\n",
       kOp},
      {"fused_projection", "  qkv: {dtype: f32, shape: [2, 19, 192]}\n", fused + kOp},
      {"fused_projection_of_16_bits", "  qkv: {dtype: bf16, shape: [2, 19, 192]}\n",
       fused + kOp +
           "  - {out: b, op: permute, in: [a], dims: [0, 2, 1, 3]}\n"
           "  - {out: c, op: reshape, in: [b], shape: [2, 19, 64]}\n",
       "[c]"},
      {"repeated_heads",
       "  q: {dtype: f32, shape: [2, 6, 5, 8]}\n  k: {dtype: f32, shape: [2, 2, 7, 8]}\n"
       "  v: {dtype: f32, shape: [2, 2, 7, 6]}\n",
       "  - {out: kr, op: repeat_interleave, in: [k], repeats: 3, dim: 1}\n"
       "  - {out: vr, op: repeat_interleave, in: [v], repeats: 3, dim: 1}\n"
       "  - {out: [a], op: scaled_dot_product_attention, in: [q, kr, vr]}\n"},
      {"residual", in + "  r: {dtype: f32, shape: [2, 19, 64]}\n",
       kOp + "  - {out: b, op: permute, in: [a], dims: [0, 2, 1, 3]}\n"
             "  - {out: c, op: reshape, in: [b], shape: [2, 19, 64]}\n"
             "  - {out: d, op: add, in: [c, r]}\n  - {out: e, op: cast, in: [d], dtype: bf16}\n",
       "[e]"},
      {"log_sum_exp_alone_is_used_twice", in,
       "  - {out: [a, l], op: scaled_dot_product_attention, in: [q, k, v]}\n"
       "  - {out: l2, op: mul, in: [l, 2.0]}\n",
       "[a, l, l2]"},
  };
}

// Sequences that lie one after the other, and other bounds of keys that each query has.
inline std::vector<AttentionCase> bounds_of_queries() {
  const auto packed = [](const std::string& heads, int64_t sequences, int64_t longest,
                         int64_t queries, int64_t keys, const std::string& attrs) {
    const auto starts = [&](const std::string& of) {
      return str("  - {out: ", of,
                 "z, op: full, size: [1], fill_value: 0, dtype: i32}\n  - {out: ", of,
                 "c, op: cumsum, in: [", of, "n], dim: 0}\n  - {out: ", of, "s, op: cat, in: [", of,
                 "z, ", of, "c], dim: 0}\n");
    };
    const auto lengths = [&](const std::string& of) {
      return str("  ", of, "n: {dtype: i32, shape: [", sequences, "], range: [0, ", longest,
                 "]}\n");
    };
    return AttentionCase{
        str("packed_", queries, "x", keys, attrs.empty() ? "" : "_causal"),
        str("  q: {dtype: f32, shape: [", queries, ", 4, 24]}\n  k: {dtype: f32, shape: [", keys,
            ", ", heads, ", 24]}\n  v: {dtype: f32, shape: [", keys, ", ", heads, ", 20]}\n",
            lengths("q"), lengths("k")),
        str(starts("q"), starts("k"),
            "  - {out: [a, l], op: packed_attention, in: [q, k, v, qs, ks]", attrs, "}\n"),
        "[a, l]"};
  };
  const AttentionSizes s = {2, 3, 3, 70, 90, 24, 20};
  const auto loaded = [&](std::string name, const std::string& condition) {
    return AttentionCase{
        std::move(name),
        attention_inputs(s) +
            "  lo: {dtype: i32, shape: [2, 1, 70, 1], range: [-5, 60]}\n"
            "  n: {dtype: i32, shape: [70, 1], range: [0, 40]}\n"
            "  row: {dtype: bool, shape: [2, 1, 70, 1]}\n",
        spelled_out(masked_by(numbers(s, "i32") + "  - {out: hi, op: add, in: [lo, n]}\n" +
                              "  - {out: w0, op: ge, in: [j, lo]}\n"
                              "  - {out: w1, op: lt, in: [j, hi]}\n"
                              "  - {out: w, op: logical_and, in: [w0, w1]}\n" +
                              condition))};
  };
  const auto lengths = [&](const std::string& attrs) {
    return AttentionCase{
        "key_lengths" + std::string(attrs.empty() ? "" : "_causal"),
        attention_inputs(s) + "  n: {dtype: i32, shape: [2], range: [0, 90]}\n",
        str("  - {out: [a, l], op: scaled_dot_product_attention, in: [q, k, v, null, n], "
            "safe_softmax: true",
            attrs, "}\n"),
        "[a, l]"};
  };
  return {
      lengths(""),
      lengths(", is_causal: true"),
      packed("4", 5, 30, 150, 140, ", is_causal: true"),
      packed("2", 5, 40, 100, 130, ""),
      packed("1", 9, 25, 75, 200, ", is_causal: true"),
      loaded("window_of_queries", "  - {out: seen, op: identity, in: [w]}\n"),
      loaded("some_queries", "  - {out: seen, op: logical_and, in: [w, row]}\n"),
      loaded("one_key_of_queries",
             "  - {out: w2, op: eq, in: [j, lo]}\n"
             "  - {out: w3, op: le, in: [j, i]}\n"
             "  - {out: seen, op: logical_or, in: [w2, w3]}\n"),
  };
}

// Keys in pages, entries of the table beyond them.
inline std::vector<AttentionCase> pages() {
  const auto paged = [](int64_t queries, int64_t heads, int64_t shared, int64_t depth, int64_t page,
                        const std::string& attrs, int64_t all = 11) {
    const int64_t batch = 3, of_sequence = 70 / page, keys = of_sequence * page;
    return AttentionCase{
        str("paged_", queries, "x", heads, "o", shared, "x", depth, "by", page,
            attrs.empty() ? "" : "_causal"),
        str("  q: {dtype: f32, shape: [", batch, ", ", heads, ", ", queries, ", ", depth,
            "]}\n  k: {dtype: f32, shape: [", all, ", ", page, ", ", shared, ", ", depth,
            "]}\n  v: {dtype: f32, shape: [", all, ", ", page, ", ", shared, ", ", depth,
            "]}\n  t: {dtype: i32, shape: [", batch, ", ", of_sequence, "], range: [-3, ", all + 3,
            "]}\n  n: {dtype: i32, shape: [", batch, "], range: [0, ", keys, "]}\n"),
        str("  - {out: [a, l], op: paged_attention, in: [q, k, v, t, n]", attrs, "}\n"), "[a, l]"};
  };
  return {
      paged(1, 8, 2, 64, 16, ""),
      paged(1, 4, 4, 40, 8, ", is_causal: true"),
      paged(12, 6, 2, 32, 4, ", is_causal: true"),
      paged(33, 2, 1, 24, 10, ", is_causal: true"),
      paged(40, 2, 2, 18, 1, ""),
      paged(12, 6, 2, 40, 7, ", is_causal: true", 90),
      paged(70, 4, 2, 64, 16, ", is_causal: true", 60),
  };
}

// Weights that are dropped at random, or changed otherwise between the softmax and the values.
inline std::vector<AttentionCase> changed_weights() {
  const AttentionSizes s = {2, 3, 3, 70, 90, 24, 20};
  const std::string in = attention_inputs(s);
  const auto changed = [&](const std::string& nodes) {
    return "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
           "  - {out: s, op: matmul, in: [q, kt]}\n  - {out: x, op: mul, in: [s, 0.3]}\n"
           "  - {out: p, op: softmax, in: [x], dim: -1}\n" +
           nodes + "  - {out: a, op: matmul, in: [w, v]}\n";
  };
  const std::string op = "  - {out: [a, l], op: scaled_dot_product_attention, in: [q, k, v";
  return {
      {"dropout", in, op + "], dropout_p: 0.3, seed: 5, offset: 77, is_causal: true}\n", "[a, l]"},
      {"dropout_state", in + "  r: {dtype: i64, shape: [2], range: [-9, 100000]}\n",
       op + ", null, null, r], dropout_p: 0.6, offset: 3}\n", "[a, l]"},
      {"dropout_safe", attention_inputs({1, 2, 1, 33, 41, 16, 16}, "f16"),
       op + "], dropout_p: 0.5, enable_gqa: true, safe_softmax: true}\n", "[a, l]"},
      {"scaled_weights", in + "  m: {dtype: f32, shape: [3, 70, 90]}\n",
       changed("  - {out: w0, op: mul, in: [p, m]}\n  - {out: w, op: div, in: [w0, 3.0]}\n")},
      {"chosen_weights", in + "  m: {dtype: bool, shape: [70, 90]}\n",
       changed("  - {out: w0, op: mul, in: [p, 2.0]}\n"
               "  - {out: w, op: where, in: [m, w0, p]}\n")},
  };
}

inline std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> all = sizes();
  for (const auto& more : {score_expressions(), scores_not_finite(), layouts(), bounds_of_queries(),
                           pages(), changed_weights()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The first 32 elements of a row rotated by halves, the others as they are.
inline std::string rotated_part(const std::string& x, const std::string& cos,
                                const std::string& sin) {
  const auto slice = [&](const char* to, const std::string& of, int from, int end) {
    return str("  - {out: ", x, to, ", op: slice, in: [", of, "], dim: -1, start: ", from,
               ", end: ", end, "}\n");
  };
  return slice("p", x, 0, 32) + slice("t", x, 32, 80) + slice("a", x + "p", 0, 16) +
         slice("b", x + "p", 16, 32) +
         str("  - {out: ", x, "n, op: neg, in: [", x, "b]}\n  - {out: ", x, "c, op: cat, in: [", x,
             "n, ", x, "a], dim: -1}\n  - {out: ", x, "d, op: mul, in: [", x, "c, ", sin,
             "]}\n  - {out: ", x, "e, op: mul, in: [", x, "p, ", cos, "]}\n  - {out: ", x,
             "f, op: add, in: [", x, "d, ", x, "e]}\n  - {out: ", x, "r, op: cat, in: [", x, "f, ",
             x, "t], dim: -1}\n");
}

// Neighbours of rows of 64 elements, of one batch and two heads, rotated by pairs.
inline std::string rotated_pairs(const std::string& x, const std::string& cos,
                                 const std::string& sin, int64_t rows) {
  const auto slice = [&](const char* to, int from) {
    return str("  - {out: ", x, to, ", op: slice, in: [", x, "p], dim: -1, start: ", from,
               ", end: ", from + 1, "}\n");
  };
  return str("  - {out: ", x, "p, op: reshape, in: [", x, "], shape: [1, 2, ", rows,
             ", 32, 2]}\n") +
         slice("a", 0) + slice("b", 1) +
         str("  - {out: ", x, "n, op: neg, in: [", x, "b]}\n  - {out: ", x, "o, op: cat, in: [", x,
             "n, ", x, "a], dim: -1}\n  - {out: ", x, "c, op: reshape, in: [", x,
             "o], shape: [1, 2, ", rows, ", 64]}\n  - {out: ", x, "d, op: mul, in: [", x, "c, ",
             sin, "]}\n  - {out: ", x, "e, op: mul, in: [", x, ", ", cos, "]}\n  - {out: ", x,
             "r, op: add, in: [", x, "d, ", x, "e]}\n");
}

// Operands that no copy brings: computed ones, and keys whose depth is no row; a bias of packed
// heads, and a soft cap.
inline std::vector<AttentionCase> attention_cases_of_loads() {
  const std::string in = attention_inputs({1, 2, 2, 70, 90, 40, 24}, "bf16");
  return {
      {"bf16_computed", in,
       "  - {out: q1, op: neg, in: [q]}\n  - {out: k1, op: relu, in: [k]}\n"
       "  - {out: v1, op: square, in: [v]}\n"
       "  - {out: [a], op: scaled_dot_product_attention, in: [q1, k1, v1]}\n"},
      {"bf16_computed_queries", attention_inputs({1, 4, 2, 70, 190, 40, 24}, "bf16"),
       "  - {out: q1, op: neg, in: [q]}\n"
       "  - {out: [a, l], op: scaled_dot_product_attention, in: [q1, k, v], is_causal: true, "
       "enable_gqa: true}\n",
       "[a, l]"},
      {"f16_queries_by_two", attention_inputs({1, 2, 2, 300, 90, 72, 64}, "f16"),
       "  - {out: q1, op: square, in: [q]}\n  - {out: q2, op: roll, in: [q1], shifts: [2], dims: "
       "[-1]}\n"
       "  - {out: [a], op: scaled_dot_product_attention, in: [q2, k, v]}\n"},
      {"bf16_rotated_queries",
       attention_inputs({2, 2, 2, 200, 260, 128, 128}, "bf16") +
           "  c: {dtype: bf16, shape: [200, 128]}\n  n: {dtype: bf16, shape: [200, 128]}\n",
       "  - {out: h0, op: slice, in: [q], dim: -1, start: 0, end: 64}\n"
       "  - {out: h1, op: slice, in: [q], dim: -1, start: 64, end: 128}\n"
       "  - {out: m, op: neg, in: [h1]}\n  - {out: r, op: cat, in: [m, h0], dim: -1}\n"
       "  - {out: x, op: mul, in: [q, c]}\n  - {out: y, op: mul, in: [r, n]}\n"
       "  - {out: q1, op: add, in: [x, y]}\n"
       "  - {out: [a, l], op: scaled_dot_product_attention, in: [q1, k, v], is_causal: true}\n",
       "[a, l]"},
      {"bf16_rotated_part",
       attention_inputs({1, 4, 2, 130, 200, 80, 64}, "bf16") +
           "  c: {dtype: bf16, shape: [200, 32]}\n  n: {dtype: bf16, shape: [200, 32]}\n"
           "  d: {dtype: bf16, shape: [130, 32]}\n  m: {dtype: bf16, shape: [130, 32]}\n",
       rotated_part("q", "d", "m") + rotated_part("k", "c", "n") +
           "  - {out: [a, l], op: scaled_dot_product_attention, in: [qr, kr, v], "
           "enable_gqa: true}\n",
       "[a, l]"},
      {"bf16_rotated_pairs",
       attention_inputs({1, 2, 2, 20, 300, 64, 64}, "bf16") +
           "  c: {dtype: bf16, shape: [300, 64]}\n  n: {dtype: bf16, shape: [300, 64]}\n"
           "  d: {dtype: bf16, shape: [20, 64]}\n  m: {dtype: bf16, shape: [20, 64]}\n",
       rotated_pairs("q", "d", "m", 20) + rotated_pairs("k", "c", "n", 300) +
           "  - {out: [a], op: scaled_dot_product_attention, in: [qr, kr, v]}\n"},
      {"bf16_keys_by_depth",
       "  q: {dtype: bf16, shape: [2, 70, 40]}\n  k: {dtype: bf16, shape: [2, 40, 90]}\n"
       "  v: {dtype: bf16, shape: [2, 24, 90]}\n",
       "  - {out: s0, op: matmul, in: [q, k]}\n  - {out: s, op: mul, in: [s0, 0.2]}\n"
       "  - {out: p, op: softmax, in: [s], dim: -1}\n"
       "  - {out: vt, op: transpose, in: [v], dim0: -1, dim1: -2}\n"
       "  - {out: a, op: matmul, in: [p, vt]}\n"},
      {"bf16_long_score",
       attention_inputs({1, 2, 2, 130, 300, 64, 64}, "bf16") +
           "  b: {dtype: bf16, shape: [130, 300]}\n  m: {dtype: bool, shape: [130, 300]}\n",
       "  - {out: kt, op: transpose, in: [k], dim0: -1, dim1: -2}\n"
       "  - {out: s, op: matmul, in: [q, kt]}\n  - {out: t, op: sin, in: [s]}\n"
       "  - {out: u, op: erf, in: [t]}\n  - {out: x, op: add, in: [u, b]}\n"
       "  - {out: y, op: where, in: [m, x, -.inf]}\n"
       "  - {out: p, op: softmax, in: [y], dim: -1}\n  - {out: a, op: matmul, in: [p, v]}\n"},
      {"f16_packed_bias",
       attention_inputs({2, 8, 2, 3, 90, 64, 64}, "f16") + "  b: {dtype: f16, shape: [8, 3, 90]}\n",
       "  - {out: [a, l], op: scaled_dot_product_attention, in: [q, k, v, b], "
       "enable_gqa: true}\n",
       "[a, l]"},
      {"bf16_packed_soft_cap", attention_inputs({2, 6, 2, 5, 90, 32, 32}, "bf16"),
       "  - {out: kr, op: repeat_interleave, in: [k], repeats: 3, dim: 1}\n"
       "  - {out: vr, op: repeat_interleave, in: [v], repeats: 3, dim: 1}\n"
       "  - {out: kt, op: transpose, in: [kr], dim0: -1, dim1: -2}\n"
       "  - {out: s, op: matmul, in: [q, kt]}\n  - {out: c, op: div, in: [s, 5.0]}\n"
       "  - {out: t, op: tanh, in: [c]}\n  - {out: x, op: mul, in: [t, 5.0]}\n"
       "  - {out: p, op: softmax, in: [x], dim: -1}\n  - {out: a, op: matmul, in: [p, vr]}\n"},
  };
}

// The case with another type in the place of one.
inline AttentionCase retyped(AttentionCase c, const std::string& from, const std::string& to) {
  for (std::string* text : {&c.inputs, &c.nodes})
    for (size_t at = 0; (at = text->find("dtype: " + from, at)) != text->npos;)
      text->replace(at, 7 + from.size(), "dtype: " + to);
  return c;
}

// Several tiles of queries and keys, heads of a group that are packed, and keys that workgroups
// share: for matrix units.
inline std::vector<AttentionCase> attention_cases_of_units(std::string_view dtype) {
  const AttentionSizes sizes[] = {
      {1, 8, 2, 3, 700, 64, 64},     {2, 8, 1, 5, 1500, 128, 128}, {1, 2, 2, 300, 1200, 128, 96},
      {1, 1, 1, 130, 260, 256, 256}, {1, 4, 2, 17, 3000, 64, 68},  {1, 2, 1, 200, 77, 33, 130},
  };
  std::vector<AttentionCase> all;
  for (const AttentionSizes& s : sizes)
    for (const char* attrs : {"", ", is_causal: true, safe_softmax: true"})
      all.push_back(sized(s, dtype, attrs));
  return all;
}

// Those of f32 in 16 bits, and more for matrix units.
inline std::vector<AttentionCase> attention_cases_of_16_bits() {
  std::vector<AttentionCase> all;
  for (AttentionCase c : attention_cases()) {
    if (c.inputs.find("f32") == c.inputs.npos) continue;
    if (c.name == "additive_condition") continue;  // a mask of f32 widens the weights
    c.name = "bf16_" + c.name;
    all.push_back(retyped(std::move(c), "f32", "bf16"));
  }
  for (const char* dtype : {"f16", "bf16"})
    for (AttentionCase& c : attention_cases_of_units(dtype)) all.push_back(std::move(c));
  for (AttentionCase& c : attention_cases_of_loads()) all.push_back(std::move(c));
  return all;
}

// The same of f32, which matrix units may read as tf32.
inline std::vector<AttentionCase> attention_cases_of_tf32() {
  std::vector<AttentionCase> all;
  for (AttentionCase& c : attention_cases())
    if (c.inputs.find("f16, ") == c.inputs.npos) all.push_back(std::move(c));
  for (AttentionCase& c : attention_cases_of_units("f32")) all.push_back(std::move(c));
  for (AttentionCase& c : attention_cases_of_loads())
    all.push_back(retyped(retyped(std::move(c), "f16", "f32"), "bf16", "f32"));
  for (AttentionCase& c : all) c.name = "tf32_" + c.name;
  return all;
}

inline ir::Graph attention_graph(const AttentionCase& c) {
  const std::string dims = c.dims.empty() ? "" : "dims: {" + c.dims + "}\n";
  return parse_yaml_graph("tcc: 1\nname: attention\n" + dims + "inputs:\n" + c.inputs + "nodes:\n" +
                              c.nodes + "outputs: " + c.outputs + "\n",
                          c.name + ".yaml", ".");
}

// "" when the device computes the graph right, with one kernel of attention (and one that joins the
// parts, where workgroups share the keys); else why not.
inline std::string check_attention(const AttentionCase& c, const std::string& device) {
  const ir::Graph graph = attention_graph(c);
  const std::vector<Tensor> inputs = draw_inputs(graph, {});
  std::string wrong = difference(graph, device, inputs, {});
  backends::CompileOptions options;
  options.binaries = false;
  const sched::Target& target = open_once(device)->target();
  const auto kernels_of_attention = [&] {
    size_t kernels = 0;
    for (const auto& kernel : backends::compile(graph, target, options).kernels)
      kernels += kernel.template_name == "attention" &&
                 kernel.source.find("#define BLOCK_Q") != std::string::npos;
    return kernels;
  };
  size_t kernels = kernels_of_attention();
  if (kernels == 0 && target.is_cpu) {  // several kernels may take less time there
    ::setenv("TCC_TEMPLATES", "-contraction", 1);
    wrong += difference(graph, device, inputs, {});
    kernels = kernels_of_attention();
    ::unsetenv("TCC_TEMPLATES");
  }
  if (kernels != 1) wrong += str(kernels, " kernels of attention\n");
  return wrong;
}

}  // namespace tcc::test
