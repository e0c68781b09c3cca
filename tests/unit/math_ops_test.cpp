// det, draws, and elementwise ops on numbers that are none.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ir/op.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::f32;
using test::run;
using test::tensor;
using test::values;
using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();

// The composition, which `run` would leave for the op's own reference.
double composed_det(const RefTensor& x) {
  Graph composed;
  Value* input = composed.add_input("x", test::type_of(x));
  Builder b(composed);
  composed.outputs = {b.unary("det", input)};
  const Node& node = *composed.nodes()[0];
  composed.outputs = node.op->compose(b, node);
  composed.output_names = {"y"};
  return interpret(composed, std::vector{x}, RefMode::ideal)[0].f[0];
}

TEST(Det, ExchangesRowsWhereThePivotIsSmall) {
  const auto expect = [](int64_t n, const Numbers& x, double expected) {
    EXPECT_NEAR(run("det", {f32({n, n}, x)}).f[0], expected, 1e-12);
    EXPECT_NEAR(composed_det(f32({n, n}, x)), expected, 1e-12);
  };
  expect(2, {0, 1, 1, 0}, -1);
  expect(3, {0, 2, 0, 0, 0, 3, 4, 0, 0}, 24);
  expect(3, {1, 2, 3, 4, 5, 6, 7, 8, 10}, -3);
  expect(3, {0, 1, 2, 0, 3, 4, 0, 5, 6}, 0);
  expect(4, {2, 0, 0, 1, 0, 2, 1, 0, 0, 1, 2, 0, 1, 0, 0, 2}, 9);
  EXPECT_TRUE(std::isnan(composed_det(f32({2, 2}, {std::nan(""), 1, 1, 1}))));
  EXPECT_EQ(run("det", {f32({2, 0, 0}, {})}).f, (Numbers{1, 1}));
  EXPECT_ERROR(test::infer("det", {{DType::f32, {65, 65}}}), "at most 64 rows");
}

TEST(Draws, FollowTheirWeights) {
  const Attrs attrs = {{"num_samples", 2000}, {"replacement", true}, {"seed", 11}};
  const RefTensor drawn = run("multinomial", {f32({4}, {0, 1, 3, 0})}, attrs);
  EXPECT_EQ(drawn.shape, Dims{2000});
  const auto count = std::count(drawn.i.begin(), drawn.i.end(), 2);
  EXPECT_NEAR(static_cast<double>(count), 1500, 80);
  EXPECT_EQ(std::count(drawn.i.begin(), drawn.i.end(), 1) + count, 2000);
  EXPECT_EQ(run("bernoulli", {f32({4}, {0, 1, 0, 1})}).f, (Numbers{0, 1, 0, 1}));
  EXPECT_ERROR(test::infer("multinomial", {{DType::f32, {4}}}, {{"num_samples", 2}}),
               "drawing without replacement is not supported");
}

TEST(Elementwise, OfInfinitiesAndNan) {
  const RefTensor x = f32({4}, {kInf, -kInf, std::nan(""), 1});
  EXPECT_EQ(values(run("isposinf", {x})), (Numbers{1, 0, 0, 0}));
  EXPECT_EQ(values(run("isneginf", {x})), (Numbers{0, 1, 0, 0}));
  EXPECT_EQ(run("shrink", {x}, {{"lambd", 1.5}, {"bias", 2.0}}).f, (Numbers{kInf, -kInf, 0, 0}));
}

TEST(Reductions, OfNothing) {
  const Attrs attrs = {{"dim", ints({1})}, {"allow_empty", true}};
  EXPECT_EQ(run("amax", {f32({2, 0}, {})}, attrs).f, (Numbers{-kInf, -kInf}));
  EXPECT_EQ(run("amin", {f32({2, 0}, {})}, attrs).f, (Numbers{kInf, kInf}));
  EXPECT_EQ(values(run("amax", {tensor(DType::i8, {1, 0}, {})}, attrs)), Numbers{-128});
  EXPECT_EQ(values(run("amin", {tensor(DType::u16, {1, 0}, {})}, attrs)), Numbers{65535});
}

TEST(Prelu, BroadcastsAWeightOfSeveralDims) {
  const RefTensor x = f32({1, 2, 2}, {-1, -2, -3, 4});
  EXPECT_EQ(run("prelu", {x, f32({2}, {10, 100})}).f, (Numbers{-10, -20, -300, 4}));
  EXPECT_EQ(run("prelu", {x, f32({1, 2}, {10, 100})}).f, (Numbers{-10, -200, -30, 4}));
  EXPECT_ERROR(test::infer("prelu", {{DType::f32, {1, 2}}, {DType::f32, {3, 2}}}),
               "weight must have 1 element");
}

}  // namespace
}  // namespace tcc::ir
