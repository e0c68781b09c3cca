#include "ir/passes/merge_siblings.h"

#include "tests/check/check_pass.h"

namespace tcc::ir {
namespace {

using test::expect_pass;
using test::expect_unchanged;

void merge(Graph& graph) { merge_siblings(graph); }

constexpr std::string_view kProjections = R"(
  graph @attention(B = 2) {
    %x: f32[B, 8] = input
    %wq: f32[4, 8] = weight
    %wk: f32[2, 8] = weight
    %wv: f32[3, 8] = weight
    %q: f32[B, 4] = linear(%x, %wq)
    %k: f32[B, 2] = linear(%x, %wk)
    %s: f32[B, 4] = sigmoid(%q)
    %v: f32[B, 3] = linear(%x, %wv)
    return %s, %k, %v
  })";

TEST(MergeSiblings, ConcatenatesTheWeightsOfLayersOnOneInput) {
  expect_pass(merge, kProjections, R"(
    graph @attention(B = 2) {
      %x: f32[B, 8] = input
      %wq: f32[4, 8] = weight
      %wk: f32[2, 8] = weight
      %wv: f32[3, 8] = weight
      %cat.4: f32[9, 8] = cat(%wq, %wk, %wv)
      %linear.5: f32[B, 9] = linear(%x, %cat.4)
      %q: f32[B, 4] = slice(%linear.5) {dim = 1, end = 4}
      %k: f32[B, 2] = slice(%linear.5) {dim = 1, start = 4, end = 6}
      %v: f32[B, 3] = slice(%linear.5) {dim = 1, start = 6, end = 9}
      %s: f32[B, 4] = sigmoid(%q)
      return %s, %k, %v
    })");
}

// Exporters write `linear` as a product with a matrix that is turned first.
TEST(MergeSiblings, MatricesThatAreTurnedAreThoseOfLayers) {
  expect_pass(merge, R"(
    graph @attention {
      %x: f32[5, 8] = input
      %wq: f32[4, 8] = weight
      %wk: f32[2, 8] = weight
      %wv: f32[8, 3] = weight
      %tq = permute(%wq) {dims = [1, 0]}
      %q = matmul(%x, %tq)
      %tk = transpose(%wk) {dim0 = -1, dim1 = 0}
      %k = matmul(%x, %tk)
      %v = matmul(%x, %wv)
      return %q, %k, %v
    })",
              R"(
    graph @attention {
      %x: f32[5, 8] = input
      %wq: f32[4, 8] = weight
      %wk: f32[2, 8] = weight
      %wv: f32[8, 3] = weight
      %cat.5 = cat(%wq, %wk)
      %linear.6 = linear(%x, %cat.5)
      %q = slice(%linear.6) {dim = 1, end = 4}
      %k = slice(%linear.6) {dim = 1, start = 4, end = 6}
      %v = matmul(%x, %wv)
      return %q, %k, %v
    })");
}

// Other front ends write layers like this: a product, and a bias that is added to it.
TEST(MergeSiblings, TakesRowsThatAreAddedToProductsForBiases) {
  expect_pass(merge, R"(
    graph @attention {
      %x: f32[5, 8] = input
      %wq: f32[8, 4] = weight
      %bq: f32[4] = weight
      %wk: f32[8, 2] = weight
      %wv: f32[8, 3] = weight
      %bv: f32[3] = weight
      %xq = matmul(%x, %wq)
      %q = add(%bq, %xq)
      %k = matmul(%x, %wk)
      %s = sigmoid(%q)
      %xv = matmul(%x, %wv)
      %v = add(%xv, %bv)
      return %s, %k, %v
    })",
              R"(
    graph @attention {
      %x: f32[5, 8] = input
      %wq: f32[8, 4] = weight
      %bq: f32[4] = weight
      %wk: f32[8, 2] = weight
      %wv: f32[8, 3] = weight
      %bv: f32[3] = weight
      %cat.6 = cat(%wq, %wk, %wv) {dim = 1}
      %matmul.7 = matmul(%x, %cat.6)
      %full.8 = full() {size = [2], fill_value = 0}
      %cat.9 = cat(%bq, %full.8, %bv)
      %add.10 = add(%matmul.7, %cat.9)
      %q = slice(%add.10) {dim = 1, end = 4}
      %k = slice(%add.10) {dim = 1, start = 4, end = 6}
      %v = slice(%add.10) {dim = 1, start = 6, end = 9}
      %s = sigmoid(%q)
      return %s, %k, %v
    })");
}

TEST(MergeSiblings, LeavesAloneWhatIsNoBias) {
  // A column, a row of an input, and a product that is read elsewhere, too.
  expect_pass(merge, R"(
    graph @g {
      %x: f32[4, 8] = input
      %r: f32[4] = input
      %w1: f32[8, 4] = weight
      %w2: f32[8, 4] = weight
      %c: f32[4, 1] = weight
      %b: f32[4] = weight
      %p = matmul(%x, %w1)
      %q = matmul(%x, %w2)
      %y = add(%p, %c)
      %z = add(%q, %b)
      %s = add(%q, %r)
      return %y, %z, %s
    })",
              R"(
    graph @g {
      %x: f32[4, 8] = input
      %r: f32[4] = input
      %w1: f32[8, 4] = weight
      %w2: f32[8, 4] = weight
      %c: f32[4, 1] = weight
      %b: f32[4] = weight
      %cat.5 = cat(%w1, %w2) {dim = 1}
      %matmul.6 = matmul(%x, %cat.5)
      %p = slice(%matmul.6) {dim = 1, end = 4}
      %q = slice(%matmul.6) {dim = 1, start = 4, end = 8}
      %y = add(%p, %c)
      %z = add(%q, %b)
      %s = add(%q, %r)
      return %y, %z, %s
    })");
}

TEST(MergeSiblings, ConcatenatesBiasesAndColumnsOfMatrices) {
  expect_pass(merge, R"(
    graph @g {
      %x: f16[5, 8] = input
      %w1: f16[4, 8] = weight
      %b1: f16[4] = weight
      %w2: f16[4, 8] = weight
      %b2: f16[4] = weight
      %m1: f16[8, 2] = weight
      %m2: f16[8, 6] = weight
      %a = linear(%x, %w1, %b1)
      %b = linear(%x, %w2, %b2)
      %c = matmul(%x, %m1)
      %d = matmul(%x, %m2)
      return %a, %b, %c, %d
    })",
              R"(
    graph @g {
      %x: f16[5, 8] = input
      %w1: f16[4, 8] = weight
      %b1: f16[4] = weight
      %w2: f16[4, 8] = weight
      %b2: f16[4] = weight
      %m1: f16[8, 2] = weight
      %m2: f16[8, 6] = weight
      %cat.4 = cat(%w1, %w2)
      %cat.5 = cat(%b1, %b2)
      %linear.6 = linear(%x, %cat.4, %cat.5)
      %a = slice(%linear.6) {dim = 1, end = 4}
      %b = slice(%linear.6) {dim = 1, start = 4, end = 8}
      %cat.9 = cat(%m1, %m2) {dim = 1}
      %matmul.10 = matmul(%x, %cat.9)
      %c = slice(%matmul.10) {dim = 1, end = 2}
      %d = slice(%matmul.10) {dim = 1, start = 2, end = 8}
      return %a, %b, %c, %d
    })");
}

TEST(MergeSiblings, FollowsAnInputThatIsItselfAPart) {
  const std::string text = test::after(merge, R"(
    graph @g {
      %x: f32[2, 4] = input
      %w1: f32[4, 4] = weight
      %w2: f32[4, 4] = weight
      %a = linear(%x, %w1)
      %b = linear(%x, %w2)
      %c = linear(%a, %w1)
      %d = linear(%a, %w2)
      return %b, %c, %d
    })");
  EXPECT_NE(text.find("linear(%a, %cat"), std::string::npos) << text;
}

TEST(MergeSiblings, LeavesWhatDiffersOrMayChange) {
  expect_unchanged(merge, R"(
    graph @g {
      %x: f32[5, 8] = input
      %y: f32[5, 8] = input
      %fixed: f32[4, 8] = weight
      %other: f32[4, 8] = weight
      %moving: f32[4, 8] = mutable weight
      %bias: f32[4] = weight
      %a = linear(%x, %fixed)
      %b = linear(%x, %other, %bias)
      %c = linear(%x, %moving)
      %d = linear(%y, %fixed)
      return %a, %b, %c, %d
    })");
}

TEST(MergeSiblings, LeavesIntegerWeightsOfOtherTypesOrSums) {
  expect_unchanged(merge, R"(
    graph @g {
      %x: i8[5, 8] = input
      %a: i8[4, 8] = weight
      %b: u8[4, 8] = weight
      %c: i8[4, 8] = weight
      %p = linear(%x, %a) {out_dtype = "i32"}
      %q = linear(%x, %b) {out_dtype = "i32"}
      %r = linear(%x, %c) {out_dtype = "i64"}
      return %p, %q, %r
    })");
}

TEST(MergeSiblings, HasALimit) {
  const auto limited = [](Graph& graph) { merge_siblings(graph, {.max_columns = 8}); };
  expect_unchanged(limited, kProjections);
}

}  // namespace
}  // namespace tcc::ir
