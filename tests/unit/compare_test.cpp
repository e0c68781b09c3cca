#include "ir/reference/compare.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tcc::ir {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

RefTensor floats(DType dtype, std::vector<double> values) {
  RefTensor tensor(dtype, {static_cast<int64_t>(values.size())});
  tensor.f = std::move(values);
  return tensor;
}

RefTensor integers(std::vector<int64_t> values) {
  RefTensor tensor(DType::i32, {static_cast<int64_t>(values.size())});
  tensor.i = std::move(values);
  return tensor;
}

TEST(Compare, FloatsWithinTheLimit) {
  const RefTensor ideal = floats(DType::f32, {3, 4}), exact = ideal;
  const double ulp = 0x1p-23, rms = std::sqrt(12.5);
  const Comparison same = compare(exact, ideal, exact);
  EXPECT_TRUE(same.pass);
  EXPECT_EQ(same.rmse_out, 0);
  EXPECT_DOUBLE_EQ(same.limit, 4 * ulp * rms);
  const double allowed = 4 * ulp * rms * std::sqrt(2);  // in one of two elements
  EXPECT_TRUE(compare(floats(DType::f32, {3 + 0.99 * allowed, 4}), ideal, exact).pass);
  EXPECT_FALSE(compare(floats(DType::f32, {3 + 1.01 * allowed, 4}), ideal, exact).pass);
}

TEST(Compare, RoundingOfTheStepsWidensTheLimit) {
  const RefTensor ideal = floats(DType::f16, {1, 2, 3, 4}),
                  stepwise = floats(DType::f16, {1.5, 2, 3, 4});
  EXPECT_TRUE(compare(floats(DType::f16, {1, 2, 3, 5}), ideal, stepwise).pass);
  const Comparison worse = compare(floats(DType::f16, {1, 2, 3, 5.5}), ideal, stepwise);
  EXPECT_FALSE(worse.pass);
  EXPECT_EQ(worse.max_abs, 1.5);
  EXPECT_EQ(worse.max_rel, 1.5 / 4);
  EXPECT_NE(worse.reason.find("worst element [3] is 5.5 where the reference has 4"),
            std::string::npos)
      << worse.reason;
}

TEST(Compare, NonFiniteValuesMustStandWhereTheyShould) {
  const RefTensor ideal = floats(DType::f32, {nan, inf, -inf, 1});
  EXPECT_TRUE(compare(ideal, ideal, ideal).pass);
  for (const auto& values : {std::vector{1., inf, -inf, 1.},
                             {nan, -inf, -inf, 1.},
                             {nan, inf, 7, 1.},
                             {nan, inf, -inf, nan}}) {
    const Comparison result = compare(floats(DType::f32, values), ideal, ideal);
    EXPECT_FALSE(result.pass);
    EXPECT_EQ(result.mismatches, 1);
  }
}

TEST(Compare, OverflowCountsAsInfinity) {
  const RefTensor ideal = floats(DType::f16, {1e6, 1}), stepwise = floats(DType::f16, {inf, 1});
  EXPECT_TRUE(compare(floats(DType::f16, {inf, 1}), ideal, stepwise).pass);
  EXPECT_FALSE(compare(floats(DType::f16, {65504, 1}), ideal, stepwise).pass);
}

TEST(Compare, AnOverflowOnTheWayMayHappenOrNot) {
  const RefTensor ideal = floats(DType::f16, {100, 1}), stepwise = floats(DType::f16, {inf, 1});
  EXPECT_TRUE(compare(floats(DType::f16, {inf, 1}), ideal, stepwise).pass);
  EXPECT_TRUE(compare(floats(DType::f16, {100, 1}), ideal, stepwise).pass);
  EXPECT_FALSE(compare(floats(DType::f16, {50, 1}), ideal, stepwise).pass);
}

TEST(Compare, HugeValuesDoNotOverflowTheSums) {
  const RefTensor ideal = floats(DType::f64, {1e300, -1e300});
  EXPECT_TRUE(compare(ideal, ideal, ideal).pass);
  EXPECT_FALSE(compare(floats(DType::f64, {1e300, 1e300}), ideal, ideal).pass);
}

TEST(Compare, IntegersAreExact) {
  const RefTensor ideal = integers({1, 2, 3});
  EXPECT_TRUE(compare(ideal, ideal, ideal).pass);
  const Comparison off = compare(integers({1, 5, 4}), ideal, ideal);
  EXPECT_FALSE(off.pass);
  EXPECT_EQ(off.mismatches, 2);
  EXPECT_EQ(off.max_abs, 3);
  EXPECT_EQ(off.reason, "element [1] is 5 where the reference has 2");
}

TEST(Compare, TypesMustAgree) {
  const RefTensor ideal = floats(DType::f32, {1});
  EXPECT_EQ(compare(floats(DType::f16, {1}), ideal, ideal).reason,
            "is f16[1] where the reference is f32[1]");
  EXPECT_FALSE(compare(floats(DType::f32, {1, 2}), ideal, ideal).pass);
}

TEST(Compare, EmptyTensorsAreEqual) {
  const RefTensor empty = floats(DType::f32, {});
  EXPECT_TRUE(compare(empty, empty, empty).pass);
}

}  // namespace
}  // namespace tcc::ir
