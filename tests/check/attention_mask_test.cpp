// The masks that recognize_attention sees.
#include <utility>

#include "support/error.h"
#include "tests/check/attention_graphs.h"

namespace tcc::ir {
namespace {

using test::attention_of;
using test::expect_no_attention;
using test::graph_of;

// `steps` make %m of the scores %s; constants may stand in front.
std::string masked(std::string_view steps, std::string_view dtype = "f32") {
  return graph_of(str(R"(
    %kt = permute(%k) {dims = [0, 1, 3, 2]}
    %s = matmul(%q, %kt)
    )",
                      steps, R"(
    %p = softmax(%m) {dim = -1}
    %y = matmul(%p, %v))"),
                  dtype);
}

std::string recognized(std::string_view steps, std::string_view dtype = "f32") {
  return attention_of(masked(steps, dtype));
}

TEST(AttentionMask, AddsWhatIsAddedOnEitherSide) {
  EXPECT_EQ(recognized("%m = add(%s, %bias)"), "%q, %k, %v, %bias) {scale = 1}");
  EXPECT_EQ(recognized("%m = add(%bias, %s)"), "%q, %k, %v, %bias) {scale = 1}");
}

TEST(AttentionMask, IsABoolWhereInfinityHides) {
  const std::string low = "%low: f32[] = const -inf ";
  EXPECT_EQ(recognized(low + "%m = where(%seen, %s, %low)"), "%q, %k, %v, %seen) {scale = 1}");
  EXPECT_EQ(recognized(low + "%unseen = logical_not(%seen) %m = where(%unseen, %low, %s)"),
            "%q, %k, %v, %seen) {scale = 1}");
  EXPECT_EQ(recognized("%unseen = logical_not(%seen) %m = masked_fill(%s, %unseen) {value = -inf}"),
            "%q, %k, %v, %seen) {scale = 1}");
  EXPECT_EQ(recognized(low + "%zero: f32[] = const 0.0 %add = where(%seen, %zero, %low) "
                             "%m = add(%s, %add)"),
            "%q, %k, %v, %seen) {scale = 1}");
}

TEST(AttentionMask, StaysUniformWhereALowNumberHidesAWholeRow) {
  const std::string text = test::after(
      recognize_attention, masked("%low: f32[] = const -1e9 %m = where(%seen, %s, %low)"));
  EXPECT_NE(text.find("where(%seen, "), std::string::npos) << text;
  EXPECT_NE(text.find("const -3.4028235e+38"), std::string::npos) << text;
}

TEST(AttentionMask, RefusesANumberThatScoresMayReach) {
  expect_no_attention(masked("%low: f32[] = const -10000.0 %m = where(%seen, %s, %low)"));
  expect_no_attention(masked("%low: f32[] = const 0.0 %m = where(%seen, %s, %low)"));
  expect_no_attention(masked("%m = where(%seen, %s, %bias)"));
}

TEST(AttentionMask, RefusesAScaleBehindASum) {
  const std::string c = "%c: f32[] = const 0.75 ";
  expect_no_attention(masked(c + "%a = add(%s, %bias) %m = mul(%a, %c)"));
  // Hidden positions stay hidden.
  EXPECT_EQ(recognized(c + "%low: f32[] = const -inf %a = where(%seen, %s, %low) %m = mul(%a, %c)"),
            "%q, %k, %v, %seen) {scale = 0.75}");
  expect_no_attention(
      masked("%c: f32[] = const -0.75 %low: f32[] = const -inf "
             "%a = where(%seen, %s, %low) %m = mul(%a, %c)"));
}

TEST(AttentionMask, RefusesAMaskThatMakesMoreScores) {
  expect_no_attention(R"(graph @g {
    %q: f32[4, 8] = input
    %k: f32[8, 5] = input
    %v: f32[5, 8] = input
    %bias: f32[3, 4, 5] = input
    %s = matmul(%q, %k)
    %m = add(%s, %bias)
    %p = softmax(%m) {dim = -1}
    %y = matmul(%p, %v)
    return %y })");
}

TEST(AttentionMask, JoinsSeveral) {
  const std::string low = "%low: f32[] = const -inf ";
  std::string text = test::after(recognize_attention,
                                 masked(low + "%a = where(%seen, %s, %low) %m = add(%a, %bias)"));
  EXPECT_NE(text.find("scaled_dot_product_attention(%q, %k, %v, %add"), std::string::npos) << text;
  text = test::after(recognize_attention,
                     masked(low + "%pad: bool[2, 1, 1, T] = input %a = where(%seen, %s, %low) "
                                  "%m = where(%pad, %a, %low)"));
  EXPECT_NE(text.find("logical_and(%seen, %pad)"), std::string::npos) << text;
}

TEST(AttentionMask, RegroupsWhatIsAddedToAnotherBatch) {
  // This is how Swin adds its windows' masks: one bias per head, then one mask per window of an
  // image.
  const auto text = [](std::string_view bias) {
    return str(R"(graph @g(B = 2) {
    %q: f32[B*4, 3, 5, 8] = input
    %k: f32[B*4, 3, 8, 5] = input
    %v: f32[B*4, 3, 5, 8] = input
    %bias: )",
               bias, R"( = input
    %window: f32[4, 1, 5, 5] = input
    %s = matmul(%q, %k)
    %s1 = add(%s, %bias)
    %s5 = reshape(%s1) {shape = [B, 4, 3, 5, 5]}
    %m5 = add(%s5, %window)
    %m = reshape(%m5) {shape = [B*4, 3, 5, 5]}
    %p = softmax(%m) {dim = -1}
    %y = matmul(%p, %v)
    return %y })");
  };
  for (const std::string_view bias : {"f32[3, 5, 5]", "f32[B*4, 1, 1, 5]"}) {
    const std::string found = test::after(recognize_attention, text(bias));
    EXPECT_NE(found.find("attention("), std::string::npos) << found;
  }
  // Windows that are not dims of the batch cannot be told apart.
  std::string other = text("f32[3, 5, 5]");
  for (const auto& [from, to] : {std::pair("[B, 4, 3, 5, 5]", "[2, 2, B*3, 5, 5]"),
                                 std::pair("f32[4, 1, 5, 5]", "f32[2, 1, 5, 5]")})
    other.replace(other.find(from), std::string_view(from).size(), to);
  expect_no_attention(other);
}

TEST(AttentionMask, MovesAFloorToTheMask) {
  const std::string text =
      test::after(recognize_attention,
                  masked("%low: f32[] = const -3.4e38 %a = add(%s, %bias) %m = maximum(%a, %low)"));
  EXPECT_NE(text.find("maximum(%bias, "), std::string::npos) << text;
  EXPECT_EQ(recognized("%m = clamp(%s) {min = -3.4e38}"), "%q, %k, %v) {scale = 1}");
  expect_no_attention(masked("%m = clamp(%s) {min = -100.0}"));
  expect_no_attention(masked("%m = clamp(%s) {min = -3.4e38, max = 50.0}"));
}

// ---- masks whose values are known

constexpr std::string_view kCausal = "%q, %k, %v) {is_causal = true, scale = 1}";

TEST(AttentionMask, IsCausalWhereThatIsCertain) {
  const std::string low = "%low: f32[] = const -inf ";
  EXPECT_EQ(recognized(low + "%c = causal_mask() {size = [4, T]} %m = where(%c, %s, %low)"),
            kCausal);
  // Keys that a cache holds are seen, too.
  EXPECT_NE(
      recognized(low + "%c = causal_mask() {size = [4, T], diagonal = 1} %m = where(%c, %s, %low)"),
      kCausal);
  EXPECT_NE(recognized(low + "%m = where(%seen, %s, %low)"), kCausal);
}

// Four queries and four keys.
std::string square(std::string_view steps) {
  std::string text = masked(steps);
  for (size_t at = 0; (at = text.find(", T", at)) != std::string::npos;) text.replace(at, 3, ", 4");
  return text;
}

TEST(AttentionMask, ReadsConstants) {
  const std::string low = "%low: f32[] = const -3.4e38 ";
  const auto of = [&](std::string_view rows) {
    return attention_of(
        square(str(low, "%c: bool[4, 4] = const ", rows, " %m = where(%c, %s, %low)")));
  };
  EXPECT_EQ(of("[true, false, false, false, true, true, false, false, true, true, true, false, "
               "true, true, true, true]"),
            kCausal);
  EXPECT_NE(of("[true, false, false, false, true, true, false, false, true, false, true, false, "
               "true, true, true, true]"),
            kCausal);
  EXPECT_EQ(of("[true, true, true, true, true, true, true, true, true, true, true, true, true, "
               "true, true, true]"),
            "%q, %k, %v) {scale = 1}");
}

TEST(AttentionMask, ReadsTrianglesAndComparisonsOfPositions) {
  const std::string low = "%low: f32[] = const -inf ";
  EXPECT_EQ(attention_of(square(low + R"(
    %one: f32[4, 4] = const 1.0
    %tri = tril(%one)
    %zero: f32[] = const 0.0
    %c = ne(%tri, %zero)
    %m = where(%c, %s, %low))")),
            kCausal);
  EXPECT_EQ(attention_of(square(low + R"(
    %row = iota() {size = [4, 1]}
    %column = iota() {size = [1, 4], dim = 1}
    %c = gt(%column, %row)
    %m = where(%c, %low, %s))")),
            kCausal);
  EXPECT_EQ(attention_of(square(R"(
    %low: f32[4, 4] = const -1e10
    %add = triu(%low) {diagonal = 1}
    %m = add(%s, %add))")),
            kCausal);
}

TEST(AttentionMask, LoadsNoWeight) {
  // It would be zeros.
  EXPECT_EQ(attention_of(square("%w: f32[4, 4] = weight %m = add(%s, %w)")),
            "%q, %k, %v, %w) {scale = 1}");
}

}  // namespace
}  // namespace tcc::ir
