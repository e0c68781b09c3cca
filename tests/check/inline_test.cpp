// Graph text in, the expression of an element of its output out.
#include "scheduler/inline.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "support/error.h"
#include "tests/whole_region.h"

namespace tcc::sched {
namespace {

using test::whole_region;

// The first output's element at (a, b, ...).
std::string element(std::string_view text, bool strict_rounding = false) {
  const ir::Graph graph = ir::parse_graph(text);
  ir::verify(graph);
  Region region = whole_region(graph);
  region.strict_rounding = strict_rounding;
  const ir::Value* output = graph.outputs.front();
  std::vector<SymInt> index;
  for (const SymInt& extent : output->shape())
    index.push_back(SymInt::axis(std::string(1, static_cast<char>('a' + index.size())), extent));
  return ir::to_string(Inliner(region).value_at(output, index));
}

TEST(Inline, PointwiseOpsAreOneExpression) {
  EXPECT_EQ(element(R"(graph @g {
    %x: f32[4, 8] = input
    %y: f32[8] = input
    %s = add(%x, %y)
    %e = exp(%s)
    return %e
  })"),
            "exp((load(b0, a*8+b) + load(b1, b)))");
}

TEST(Inline, ViewsMoveIndices) {
  EXPECT_EQ(element(R"(graph @g {
    %x: f32[4, 6] = input
    %t = permute(%x) {dims = [1, 0]}
    %r = reshape(%t) {shape = [2, 3, 4]}
    %s = slice(%r) {dim = 1, start = 1, end = 3}
    return %s
  })"),
            "load(b0, a*3+b+c*6+1)");
}

TEST(Inline, SixteenBitsAreRoundedBetweenOpsOnRequestAlone) {
  constexpr std::string_view kText = R"(graph @g {
    %x: bf16[4] = input
    %e = exp(%x)
    %n = neg(%e)
    %c = cast(%n) {dtype = f32}
    return %c
  })";
  EXPECT_EQ(element(kText), "-exp(load(b0, a))");
  EXPECT_EQ(element(kText, true), "f32(bf16(-f32(bf16(exp(load(b0, a))))))");
}

TEST(Inline, ReductionsThatNothingBindsAreLoops) {
  EXPECT_EQ(element(R"(graph @g {
    %x: f32[4, 8] = input
    %s = sum(%x) {dim = [1]}
    %e = relu(%s)
    return %e
  })"),
            "maximum(sum[r < 8](load(b0, a*8+r)), 0)");
}

TEST(Inline, ProductsThatNothingBindsAreLoops) {
  EXPECT_EQ(element(R"(graph @g {
    %x: f32[4, 8] = input
    %w: f32[8, 5] = input
    %p = matmul(%x, %w)
    return %p
  })"),
            "sum[r < 8]((load(b0, a*8+r) * load(b1, b+r*5)))");
}

TEST(Inline, PaddingIsSelected) {
  EXPECT_EQ(element(R"(graph @g {
    %x: f32[4] = input
    %p = pad(%x) {pad = [1, 2], value = 7.0}
    return %p
  })"),
            "select(((0 <= [a-1]) && ([a-1] < 4)), load(b0, max(0, min(3, a-1))), 7)");
}

// Two operands that are one value are one expression.
TEST(Inline, AValueIsInlinedOnce) {
  const ir::Graph graph = ir::parse_graph(R"(graph @g {
    %x: f32[4] = input
    %e = exp(%x)
    %s = mul(%e, %e)
    return %s
  })");
  const Region region = whole_region(graph);
  Inliner inliner(region);
  const SymInt a = SymInt::axis("a", 4);
  const Expr product = inliner.value_at(graph.outputs.front(), {{a}});
  ASSERT_EQ(product->args.size(), 2u);
  EXPECT_EQ(product->args[0], product->args[1]);
}

TEST(Inline, BoundValuesComeFromTheirBinding) {
  const ir::Graph graph = ir::parse_graph(R"(graph @g {
    %x: f32[4, 8] = input
    %s = sum(%x) {dim = [1], keepdim = true}
    %d = div(%x, %s)
    return %d
  })");
  const Region region = whole_region(graph);
  const ir::Value* sum = graph.nodes().front()->outputs.front();
  const SymInt a = SymInt::axis("a", 4), b = SymInt::axis("b", 8);
  const std::vector<SymInt> index = {a, b};
  Inliner inliner(region);
  inliner.bind(sum, [&](std::span<const SymInt> at) { return ir::load(9, DType::f32, at[0]); });
  EXPECT_EQ(ir::to_string(inliner.value_at(graph.outputs.front(), index)),
            "(load(b0, a*8+b) / load(b9, a))");
  EXPECT_EQ(inliner.asked_elsewhere(), nullptr);

  // A binding that lacks the element is noted for those who ask whether a region fits, and an error
  // for those who make its kernel.
  const auto none = [](std::span<const SymInt>) { return Expr(); };
  Inliner noting(region, Inliner::Lacking::is_noted);
  noting.bind(sum, none);
  noting.value_at(graph.outputs.front(), index);
  EXPECT_EQ(noting.asked_elsewhere(), sum);
  Inliner strict(region);
  strict.bind(sum, none);
  EXPECT_THROW(strict.value_at(graph.outputs.front(), index), InternalError);
}

}  // namespace
}  // namespace tcc::sched
