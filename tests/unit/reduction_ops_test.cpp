// sum, amax, argmax, cumsum, mean, var, norm, logsumexp and their kin against numbers written down.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::counting;
using test::f32;
using test::i64;
using test::run;
using test::run_all;
using test::tensor;
using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Attrs dim(const Dims& dims, bool keepdim = false) {
  return {{"dim", ints(dims)}, {"keepdim", keepdim}};
}

TEST(Sum, ReducesTheNamedDims) {
  const RefTensor x = counting({2, 3, 2});  // 0 .. 11
  EXPECT_EQ(run("sum", {x}, dim({0})).f, (Numbers{6, 8, 10, 12, 14, 16}));
  EXPECT_EQ(run("sum", {x}, dim({-1})).f, (Numbers{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(run("sum", {x}, dim({2, 0})).f, (Numbers{14, 22, 30}));
  const RefTensor all = run("sum", {x});
  EXPECT_EQ(all.shape, Dims{});
  EXPECT_EQ(all.f, Numbers{66});
  EXPECT_EQ(run("sum", {x}, dim({1}, true)).shape, (Dims{2, 1, 2}));
  EXPECT_EQ(run("sum", {x}, {{"dim", 1}}).f, (Numbers{6, 9, 24, 27}));
}

TEST(Sum, OfIntegersAndBoolIsI64) {
  const RefTensor bytes = run("sum", {tensor(DType::u8, {3}, {255, 255, 1})});
  EXPECT_EQ(bytes.dtype, DType::i64);
  EXPECT_EQ(bytes.i, std::vector<int64_t>{511});
  EXPECT_EQ(run("sum", {tensor(DType::boolean, {4}, {1, 0, 1, 1})}).i, std::vector<int64_t>{3});
}

TEST(Sum, OverNothingIsZero) {
  EXPECT_EQ(run("sum", {f32({2, 0}, {})}, dim({1})).f, (Numbers{0, 0}));
  EXPECT_EQ(run("prod", {f32({2, 0}, {})}, dim({1})).f, (Numbers{1, 1}));
  EXPECT_EQ(run("sum", {f32({}, {7})}, dim({0})).f, Numbers{7});
  EXPECT_EQ(run("all", {tensor(DType::boolean, {0}, {})}).i, std::vector<int64_t>{1});
  EXPECT_EQ(run("any", {tensor(DType::boolean, {0}, {})}).i, std::vector<int64_t>{0});
}

TEST(Reductions, AgreeWithLoops) {
  const RefTensor x = test::tensor(DType::f64, {3, 4, 5}, [] {
    Numbers v;
    for (int k = 0; k < 60; ++k) v.push_back((k * 37 % 23) - 11.5);
    return v;
  }());
  const RefTensor sum = run("sum", {x}, dim({0, 2})), prod = run("prod", {x}, dim({1}));
  const RefTensor max = run("amax", {x}, dim({0, 1})), arg = run("argmin", {x}, dim({1}));
  const auto at = [&](size_t i, size_t j, size_t k) { return x.f[(i * 4 + j) * 5 + k]; };
  for (size_t j = 0; j < 4; ++j) {
    double total = 0;
    for (size_t i = 0; i < 3; ++i)
      for (size_t k = 0; k < 5; ++k) total += at(i, j, k);
    EXPECT_EQ(sum.f[j], total);
  }
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 5; ++k) {
      size_t best = 0;
      for (size_t j = 1; j < 4; ++j)
        if (at(i, j, k) < at(i, best, k)) best = j;
      EXPECT_EQ(arg.i[i * 5 + k], static_cast<int64_t>(best));
      EXPECT_DOUBLE_EQ(prod.f[i * 5 + k], at(i, 0, k) * at(i, 1, k) * at(i, 2, k) * at(i, 3, k));
    }
  }
  for (size_t k = 0; k < 5; ++k) {
    double best = -kInf;
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 4; ++j) best = std::max(best, at(i, j, k));
    EXPECT_EQ(max.f[k], best);
  }
}

TEST(Extrema, PropagateNan) {
  const RefTensor x = f32({2, 3}, {1, kNan, 3, -kInf, 5, 5});
  EXPECT_TRUE(std::isnan(run("amax", {x}, dim({1})).f[0]));
  EXPECT_TRUE(std::isnan(run("amin", {x}, dim({1})).f[0]));
  EXPECT_EQ(run("amax", {x}, dim({1})).f[1], 5);
  EXPECT_EQ(run("amin", {x}, dim({1})).f[1], -kInf);
  EXPECT_EQ(run("any", {x}, dim({1})).i, (std::vector<int64_t>{1, 1}));
}

TEST(Extrema, OfIntegersKeepTheDtype) {
  const RefTensor wide = tensor(DType::u64, {2}, {0, 0});
  RefTensor x = wide;
  x.i = {-1, 1};  // 2^64 - 1 and 1
  EXPECT_EQ(run("amax", {x}).i, std::vector<int64_t>{-1});
  EXPECT_EQ(run("amin", {x}).i, std::vector<int64_t>{1});
  EXPECT_EQ(run("argmax", {x}).i, std::vector<int64_t>{0});
  EXPECT_EQ(run("amax", {tensor(DType::i8, {3}, {-5, -2, -9})}).i, std::vector<int64_t>{-2});
}

TEST(ArgMax, TakesTheFirstOfEqualsAndNanAboveAll) {
  EXPECT_EQ(run("argmax", {f32({5}, {1, 7, 7, 3, 7})}, dim({0})).i, std::vector<int64_t>{1});
  EXPECT_EQ(run("argmin", {f32({4}, {2, 1, 1, 3})}, dim({0})).i, std::vector<int64_t>{1});
  EXPECT_EQ(run("argmax", {f32({4}, {kInf, 2, kNan, kNan})}, dim({0})).i, std::vector<int64_t>{2});
  EXPECT_EQ(run("argmin", {f32({3}, {-kInf, 2, kNan})}, dim({0})).i, std::vector<int64_t>{2});
}

TEST(ArgMax, WithoutDimIndexesTheFlattenedTensor) {
  const RefTensor x = f32({2, 3}, {0, 1, 2, 9, 4, 5});
  EXPECT_EQ(run("argmax", {x}).i, std::vector<int64_t>{3});
  EXPECT_EQ(run("argmax", {x}, {{"keepdim", true}}).shape, (Dims{1, 1}));
}

TEST(Scans, AlongADim) {
  const RefTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("cumsum", {x}, {{"dim", 1}}).f, (Numbers{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run("cumsum", {x}, {{"dim", 0}}).f, (Numbers{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run("cumprod", {x}, {{"dim", -1}}).f, (Numbers{1, 2, 6, 4, 20, 120}));
  const RefTensor counts = run("cumsum", {tensor(DType::boolean, {3}, {1, 1, 1})}, {{"dim", 0}});
  EXPECT_EQ(counts.dtype, DType::i64);
  EXPECT_EQ(counts.i, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(run("cumsum", {f32({}, {3})}, {{"dim", 0}}).f, Numbers{3});
}

TEST(Max, WithADimGivesValuesAndIndices) {
  const auto both = run_all("max", {f32({2, 2}, {1, 5, 7, 2})}, dim({1}));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].f, (Numbers{5, 7}));
  EXPECT_EQ(both[1].i, (std::vector<int64_t>{1, 0}));
  const auto one = run_all("min", {f32({2, 2}, {1, 5, 7, 2})});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].f, Numbers{1});
}

TEST(Mean, AndItsSpread) {
  const RefTensor x = f32({2, 4}, {1, 2, 3, 4, 5, 5, 5, 5});
  EXPECT_EQ(run("mean", {x}, dim({1})).f, (Numbers{2.5, 5}));
  EXPECT_NEAR(run("var", {x}, dim({1})).f[0], 5.0 / 3, 1e-12);
  EXPECT_EQ(run("var", {x}, dim({1})).f[1], 0);
  EXPECT_EQ(run("var", {x}, {{"dim", ints({1})}, {"correction", 0}}).f[0], 1.25);
  EXPECT_NEAR(run("std", {x}, dim({1})).f[0], std::sqrt(5.0 / 3), 1e-12);
  EXPECT_TRUE(std::isnan(run("var", {f32({1}, {3})}).f[0]));
  EXPECT_TRUE(std::isnan(run("mean", {f32({0}, {})}).f[0]));
}

TEST(Mean, DividesByTheSizeOfASymbolicDim) {
  Graph graph;
  graph.dims["B"] = 4;
  Value* x = graph.add_input("x", {DType::f32, {SymInt::symbol("B"), 2}});
  graph.outputs = {Builder(graph).reduce("mean", x, {0})};
  graph.output_names = {"y"};
  const auto y = interpret(graph.bind({{"B", 2}}), {f32({2, 2}, {1, 2, 3, 6})}, RefMode::ideal);
  EXPECT_EQ(y[0].f, (Numbers{2, 4}));
}

TEST(Norm, OfEveryOrder) {
  const RefTensor x = f32({1, 4}, {3, -4, 0, 12});
  EXPECT_EQ(run("norm", {x}).f, Numbers{13});
  EXPECT_EQ(run("norm", {x}, {{"p", 1}}).f, Numbers{19});
  EXPECT_EQ(run("norm", {x}, {{"p", kInf}}).f, Numbers{12});
  EXPECT_EQ(run("norm", {x}, {{"p", -kInf}}).f, Numbers{0});
  EXPECT_EQ(run("norm", {x}, {{"p", 0}, {"dim", 1}}).f, Numbers{3});
  EXPECT_NEAR(run("norm", {x}, {{"p", 3}}).f[0], std::cbrt(27 + 64 + 1728), 1e-5);
}

TEST(LogSumExp, IsStableAndKnowsInfinities) {
  EXPECT_NEAR(run("logsumexp", {f32({2}, {1000, 1000})}, dim({0})).f[0], 1000 + std::log(2), 1e-9);
  EXPECT_EQ(run("logsumexp", {f32({2}, {-kInf, -kInf})}, dim({0})).f[0], -kInf);
  EXPECT_EQ(run("logsumexp", {f32({2, 0}, {})}, dim({1})).f, (Numbers{-kInf, -kInf}));
  EXPECT_EQ(run("logsumexp", {f32({0, 2}, {})}, dim({1})).shape, (std::vector<int64_t>{0}));
  EXPECT_EQ(run("logsumexp", {f32({2}, {kInf, 1})}, dim({0})).f[0], kInf);
  EXPECT_NEAR(run("logsumexp", {f32({2}, {-kInf, 3})}, dim({0})).f[0], 3, 1e-12);
}

TEST(Reductions, RefuseBadDims) {
  const Type x = {DType::f32, {2, 3}};
  EXPECT_ERROR(test::infer("sum", {x}, dim({2})), "sum: dim 2 is out of range for rank 2");
  EXPECT_ERROR(test::infer("sum", {x}, dim({1, -1})), "dim names dim 1 twice");
  EXPECT_ERROR(test::infer("amax", {{DType::f32, {2, 0}}}, dim({1})), "dim 1 is empty");
  EXPECT_ERROR(test::infer("argmax", {x}, dim({0, 1})), "dim must be one dim");
  EXPECT_ERROR(test::infer("mean", {{DType::i32, {2}}}), "x must be a float tensor, not i32[2]");
  EXPECT_EQ(test::infer("amax", {{DType::f32, {0, 2}}}, dim({1})), "f32[0]");
}

}  // namespace
}  // namespace tcc::ir
