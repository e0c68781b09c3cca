#include "ir/passes/recognize_attention.h"

#include "support/error.h"
#include "tests/check/attention_graphs.h"

namespace tcc::ir {
namespace {

using test::attention_of;
using test::expect_attention;
using test::expect_no_attention;
using test::graph_of;

// The only attention's second result is %lse.
void expect_graph(std::string_view text, std::string_view expected) {
  Graph graph = parse_graph(text);
  recognize_attention(graph);
  verify(graph);
  for (const auto& node : graph.nodes())
    if (node->op_name() == "scaled_dot_product_attention") node->outputs[1]->name = "lse";
  EXPECT_EQ(print_graph(graph), print_graph(parse_graph(expected)));
}

void expect_none_in(std::string_view body) { expect_no_attention(graph_of(body)); }

TEST(RecognizeAttention, MakesOneNode) {
  expect_graph(graph_of(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %c: f32[] = const 0.75
    %scaled = mul(%s, %c)
    %masked = add(%scaled, %bias)
    %p = softmax(%masked) {dim = -1}
    %y = matmul(%p, %v))"),
               graph_of(R"(
    %y, %lse = scaled_dot_product_attention(%q, %k, %v, %bias) {scale = 0.75})"));
}

TEST(RecognizeAttention, JoinsTheHeadsOfProjections) {
  expect_graph(R"(graph @g(B = 2, S = 7) {
    %x: f32[B, S, 24] = input
    %wq: f32[24, 24] = weight
    %wk: f32[24, 24] = weight
    %wv: f32[24, 24] = weight
    %q = linear(%x, %wq)
    %q4 = reshape(%q) {shape = [B, S, 3, 8]}
    %qh = permute(%q4) {dims = [0, 2, 1, 3]}
    %k = linear(%x, %wk)
    %k4 = reshape(%k) {shape = [B, S, 3, 8]}
    %kt = permute(%k4) {dims = [0, 2, 3, 1]}
    %v = linear(%x, %wv)
    %v4 = reshape(%v) {shape = [B, S, 3, 8]}
    %vh = permute(%v4) {dims = [0, 2, 1, 3]}
    %s = matmul(%qh, %kt)
    %c: f32[] = const 3.0
    %scaled = div(%s, %c)
    %p = softmax(%scaled) {dim = 3}
    %o = matmul(%p, %vh)
    %oh = permute(%o) {dims = [0, 2, 1, 3]}
    %y = reshape(%oh) {shape = [B, S, 24]}
    return %y })",
               R"(graph @g(B = 2, S = 7) {
    %x: f32[B, S, 24] = input
    %wq: f32[24, 24] = weight
    %wk: f32[24, 24] = weight
    %wv: f32[24, 24] = weight
    %q = linear(%x, %wq)
    %q4 = reshape(%q) {shape = [B, S, 3, 8]}
    %qh = permute(%q4) {dims = [0, 2, 1, 3]}
    %k = linear(%x, %wk)
    %k4 = reshape(%k) {shape = [B, S, 3, 8]}
    %v = linear(%x, %wv)
    %v4 = reshape(%v) {shape = [B, S, 3, 8]}
    %vh = permute(%v4) {dims = [0, 2, 1, 3]}
    %transpose.15 = permute(%k4) {dims = [0, 2, 1, 3]}
    %o, %lse = scaled_dot_product_attention(%qh, %transpose.15, %vh) {scale = 0.3333333333333333}
    %oh = permute(%o) {dims = [0, 2, 1, 3]}
    %y = reshape(%oh) {shape = [B, S, 24]}
    return %y })");
}

// ---- the scale

TEST(RecognizeAttention, TakesTheScaleOfQueryAndKey) {
  // torch.onnx writes attention like this: the root of the scale on both.
  expect_attention(R"(
    %r: f32[] = const 0.5
    %qs = mul(%q, %r)
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %ks = mul(%kt, %r)
    %s = matmul(%qs, %ks)
    %p = softmax(%s) {dim = -1}
    %y = matmul(%p, %v))",
                   "%q, %k, %v) {scale = 0.25}");
  expect_attention(R"(
    %d: f32[1, 1] = const 3.0
    %qs = div(%q, %d)
    %kt = transpose(%k) {dim0 = 2, dim1 = 3}
    %s = matmul(%qs, %kt)
    %p = softmax(%s) {dim = -1}
    %y = matmul(%p, %v))",
                   "%q, %k, %v) {scale = 0.3333333333333333}");
}

TEST(RecognizeAttention, ComputesTheScale) {
  expect_attention(R"(
    %depth: i64[] = const 64
    %d = cast(%depth) {dtype = f32}
    %root = sqrt(%d)
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %scaled = div(%s, %root)
    %p = softmax(%scaled) {dim = -1}
    %y = matmul(%p, %v))",
                   "%q, %k, %v) {scale = 0.125}");
}

TEST(RecognizeAttention, ScalesHalfOperandsWhoseProductMayOverflow) {
  EXPECT_EQ(attention_of(graph_of(R"(
    %r: f32[] = const 0.5
    %qs = mul(%q, %r)
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%qs, %kt)
    %p = softmax(%s) {dim = -1}
    %y = matmul(%p, %v))",
                                  "f16")),
            "%qs, %k, %v) {scale = 1}");
  // One of them is enough.
  expect_graph(graph_of(R"(
    %r: f32[] = const 0.5
    %qs = mul(%q, %r)
    %ks = mul(%k, %r)
    %kt = permute(%ks) {dims = [0, 1, 3, 2]}
    %s = matmul(%qs, %kt)
    %two: f32[] = const 2.0
    %scaled = mul(%s, %two)
    %p = softmax(%scaled) {dim = -1}
    %y = matmul(%p, %v))",
                        "f16"),
               graph_of(R"(
    %const.8: f32[] = const 0.25
    %mul.9 = mul(%q, %const.8)
    %y, %lse = scaled_dot_product_attention(%mul.9, %k, %v) {scale = 2})",
                        "f16"));
}

TEST(RecognizeAttention, RefusesAScaleThatIsNotOneNumber) {
  expect_none_in(R"(
    %c: f32[3, 1, 1] = const [1, 2, 3]
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %scaled = mul(%s, %c)
    %p = softmax(%scaled) {dim = -1}
    %y = matmul(%p, %v))");
  expect_none_in(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %scaled = mul(%s, %bias)
    %p = softmax(%scaled) {dim = -1}
    %y = matmul(%p, %v))");
  expect_none_in(R"(
    %c: f32[] = const 0.0
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %scaled = mul(%s, %c)
    %p = softmax(%scaled) {dim = -1}
    %y = matmul(%p, %v))");
}

// ---- the way between the products

TEST(RecognizeAttention, SeesThroughCastsAndInactiveDropout) {
  const std::string text = graph_of(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %wide = cast(%s) {dtype = f64}
    %p = softmax(%wide) {dim = -1}
    %narrow = cast(%p) {dtype = f32}
    %dropped = dropout(%narrow) {p = 0.1}
    %y = matmul(%dropped, %v))",
                                    "f16");
  // f64 is more than the f32 that scores are computed in.
  expect_no_attention(text);
  std::string wide = text;
  wide.replace(wide.find("f64"), 3, "f32");
  EXPECT_EQ(attention_of(wide), "%q, %k, %v) {scale = 1}");
}

TEST(RecognizeAttention, KeepsAGuardAgainstNaN) {
  expect_attention(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %low: f32[] = const -inf
    %m = where(%seen, %s, %low)
    %p = softmax(%m) {dim = -1}
    %bad = isnan(%p)
    %zero: f32[] = const 0.0
    %safe = where(%bad, %zero, %p)
    %y = matmul(%safe, %v))",
                   "%q, %k, %v, %seen) {scale = 1, safe_softmax = true}");
  expect_attention(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %p = softmax(%s) {dim = -1}
    %safe = nan_to_num(%p)
    %y = matmul(%safe, %v))",
                   "%q, %k, %v) {scale = 1, safe_softmax = true}");
  expect_none_in(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %p = softmax(%s) {dim = -1}
    %bad = isnan(%p)
    %one: f32[] = const 1.0
    %safe = where(%bad, %one, %p)
    %y = matmul(%safe, %v))");
}

TEST(RecognizeAttention, RefusesAnotherSoftmax) {
  expect_none_in(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %p = softmax(%s) {dim = 2}
    %y = matmul(%p, %v))");
  expect_none_in(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %p = log_softmax(%s) {dim = -1}
    %y = matmul(%p, %v))");
}

TEST(RecognizeAttention, RefusesProbabilitiesThatAreChanged) {
  expect_none_in(R"(
    %head: f32[3, 1, 1] = const [1, 0, 1]
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %p = softmax(%s) {dim = -1}
    %some = mul(%p, %head)
    %y = matmul(%some, %v))");
  expect_none_in(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %p = softmax(%s) {dim = -1}
    %some = dropout(%p) {p = 0.5, training = true}
    %y = matmul(%some, %v))");
}

TEST(RecognizeAttention, RefusesScoresThatOthersRead) {
  std::string text = graph_of(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %m = add(%s, %bias)
    %p = softmax(%m) {dim = -1}
    %y = matmul(%p, %v))");
  EXPECT_EQ(attention_of(text), "%q, %k, %v, %bias) {scale = 1}");
  const size_t at = text.find("return %y") + 9;
  for (const char* value : {", %s", ", %m", ", %p"}) {
    std::string read = text;
    expect_no_attention(read.insert(at, value));
  }
  expect_none_in(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %p = softmax(%s) {dim = -1}
    %a = matmul(%p, %v)
    %b = matmul(%p, %v)
    %y = add(%a, %b))");
}

TEST(RecognizeAttention, RefusesVectorsAndIntegers) {
  expect_no_attention(R"(graph @g {
    %q: f32[4, 8] = input
    %k: f32[8, 5] = input
    %v: f32[5] = input
    %s = matmul(%q, %k)
    %p = softmax(%s) {dim = -1}
    %y = matmul(%p, %v)
    return %y })");
}

// ---- heads

TEST(RecognizeAttention, TakesHeadsOutOfTheBatch) {
  // BART was exported like this: products of [batch * heads, ., .], the mask on [batch, heads, .,
  // .].
  expect_graph(R"(graph @g(B = 2, S = 4) {
    %q: f32[B, 3, S, 8] = input
    %k: f32[B, 3, S, 8] = input
    %v: f32[B, 3, S, 8] = input
    %bias: f32[B, 1, S, S] = input
    %q3 = reshape(%q) {shape = [B*3, S, 8]}
    %k3 = reshape(%k) {shape = [B*3, S, 8]}
    %v3 = reshape(%v) {shape = [B*3, S, 8]}
    %kt = permute(%k3) {dims = [0, 2, 1]}
    %s = bmm(%q3, %kt)
    %s4 = reshape(%s) {shape = [B, 3, S, S]}
    %m4 = add(%s4, %bias)
    %m = reshape(%m4) {shape = [B*3, S, S]}
    %p = softmax(%m) {dim = -1}
    %o = bmm(%p, %v3)
    %y = reshape(%o) {shape = [B, 3, S, 8]}
    return %y })",
               R"(graph @g(B = 2, S = 4) {
    %q: f32[B, 3, S, 8] = input
    %k: f32[B, 3, S, 8] = input
    %v: f32[B, 3, S, 8] = input
    %bias: f32[B, 1, S, S] = input
    %scaled_dot_product_attention.16.out, %lse = scaled_dot_product_attention(%q, %k, %v, %bias) {scale = 1}
    return %scaled_dot_product_attention.16.out as "y" })");
}

TEST(RecognizeAttention, SeesATranspositionOfRegroupedKeys) {
  // torch.onnx writes it like this now: the scaled keys are transposed as [batch * heads, ., .].
  expect_attention(R"(
    %r: f32[] = const 0.5
    %qs = mul(%q, %r)
    %k3 = reshape(%k) {shape = [6, T, 8]}
    %kt3 = permute(%k3) {dims = [0, 2, 1]}
    %kt = reshape(%kt3) {shape = [2, 3, 8, T]}
    %ks = mul(%kt, %r)
    %s = matmul(%qs, %ks)
    %p = softmax(%s) {dim = -1}
    %y = matmul(%p, %v))",
                   "%q, %k, %v) {scale = 0.25}");
}

TEST(RecognizeAttention, RefusesToRegroupABroadcastBatch) {
  expect_no_attention(R"(graph @g {
    %q: f32[6, 4, 8] = input
    %k: f32[8, 5] = input
    %v: f32[6, 5, 8] = input
    %bias: f32[2, 1, 4, 5] = input
    %s = matmul(%q, %k)
    %s4 = reshape(%s) {shape = [2, 3, 4, 5]}
    %m4 = add(%s4, %bias)
    %m = reshape(%m4) {shape = [6, 4, 5]}
    %p = softmax(%m) {dim = -1}
    %y = matmul(%p, %v)
    return %y })");
}

TEST(RecognizeAttention, ReadsEquations) {
  expect_graph(R"(graph @g(B = 2, S = 4) {
    %q: f32[B, S, 3, 8] = input
    %k: f32[B, S, 3, 8] = input
    %v: f32[B, S, 3, 8] = input
    %s = einsum(%q, %k) {equation = "bihd,bjhd->bhij"}
    %p = softmax(%s) {dim = -1}
    %y = einsum(%p, %v) {equation = "bhij,bjhd->bihd"}
    return %y })",
               R"(graph @g(B = 2, S = 4) {
    %q: f32[B, S, 3, 8] = input
    %k: f32[B, S, 3, 8] = input
    %v: f32[B, S, 3, 8] = input
    %permute.3 = permute(%q) {dims = [0, 2, 1, 3]}
    %permute.6 = permute(%v) {dims = [0, 2, 1, 3]}
    %transpose.9 = permute(%k) {dims = [0, 2, 1, 3]}
    %matmul.7, %lse = scaled_dot_product_attention(%permute.3, %transpose.9, %permute.6) {scale = 1}
    %y = permute(%matmul.7) {dims = [0, 2, 1, 3]}
    return %y })");
}

TEST(RecognizeAttention, SharesKeysAmongGroupsOfQueries) {
  const auto text = [](std::string_view repeated) {
    return str(R"(graph @g(B = 2, S = 4) {
    %q: f32[B, 6, S, 8] = input
    %k: f32[B, 2, S, 8] = input
    %v: f32[B, 2, S, 8] = input
    )",
               repeated, R"(
    %kt = permute(%kr) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    %p = softmax(%s) {dim = -1}
    %y = matmul(%p, %vr)
    return %y })");
  };
  const std::string expected = "%q, %k, %v) {scale = 1, enable_gqa = true}";
  EXPECT_EQ(attention_of(text(R"(
    %k5 = unsqueeze(%k) {dim = 2}
    %ke = expand(%k5) {size = [B, 2, 3, S, 8]}
    %kr = reshape(%ke) {shape = [B, 6, S, 8]}
    %v5 = unsqueeze(%v) {dim = 2}
    %ve = expand(%v5) {size = [B, 2, 3, S, 8]}
    %vr = reshape(%ve) {shape = [B, 6, S, 8]})")),
            expected);
  EXPECT_EQ(attention_of(text(R"(
    %kr = repeat_interleave(%k) {repeats = 3, dim = 1}
    %vr = repeat_interleave(%v) {repeats = 3, dim = 1})")),
            expected);
  // Heads in another order are no groups.
  EXPECT_EQ(attention_of(text(R"(
    %k5 = unsqueeze(%k) {dim = 1}
    %ke = expand(%k5) {size = [B, 3, 2, S, 8]}
    %kr = reshape(%ke) {shape = [B, 6, S, 8]}
    %v5 = unsqueeze(%v) {dim = 1}
    %ve = expand(%v5) {size = [B, 3, 2, S, 8]}
    %vr = reshape(%ve) {shape = [B, 6, S, 8]})")),
            "%q, %kr, %vr) {scale = 1}");
}

}  // namespace
}  // namespace tcc::ir
