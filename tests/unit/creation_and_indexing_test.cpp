// Ops that make tensors, draw random numbers, and read or write at indices.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/ops/_philox.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::counting;
using test::f32;
using test::i64;
using test::infer;
using test::run;
using Values = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(Creation, FillsAndCounts) {
  EXPECT_EQ(run("full", {}, {{"size", ints({2})}, {"fill_value", 0.5}}).f, (Values{0.5, 0.5}));
  EXPECT_EQ(run("ones_like", {i64({2}, {5, 6})}).i, (Ints{1, 1}));
  EXPECT_EQ(infer("zeros", {}, {{"size", Shape{SymInt::symbol("B"), 3}}}), "f32[B, 3]");
  EXPECT_EQ(run("arange", {}, {{"start", 5}, {"end", 0}, {"step", -2}}).i, (Ints{5, 3, 1}));
  EXPECT_EQ(run("arange", {}, {{"end", 1.0}, {"step", 0.4}, {"dtype", DType::f32}}).f,
            (Values{0, 0.4, 0.8}));
  EXPECT_EQ(run("arange", {}, {{"start", 3}, {"end", 1}}).numel(), 0);
  EXPECT_EQ(run("iota", {}, {{"size", ints({2, 2})}, {"dim", 1}}).i, (Ints{0, 1, 0, 1}));
  EXPECT_EQ(run("eye", {}, {{"n", 2}, {"m", 3}}).f, (Values{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(run("one_hot", {i64({3}, {1, 0, 5})}, {{"num_classes", 2}}).i,
            (Ints{0, 1, 1, 0, 0, 0}));
}

TEST(Creation, RefusesBadSizesAndNumbers) {
  EXPECT_ERROR(run("full", {}, {{"size", ints({-1})}, {"fill_value", 1.0}}),
               "full: shape [-1] has a negative dim");
  EXPECT_ERROR(run("zeros", {}, {{"size", ints({1LL << 40, 1LL << 40})}}), "has too many elements");
  EXPECT_ERROR(
      run("full", {}, {{"size", ints({1})}, {"fill_value", INFINITY}, {"dtype", DType::i32}}),
      "fill_value = inf is not a value of i32");
  EXPECT_ERROR(run("arange", {}, {{"end", 1.5}}), "1.5 is not a whole number, which i64 needs");
  EXPECT_ERROR(run("arange", {}, {{"end", 5}, {"step", 0}}), "step must not be 0");
}

TEST(Random, PhiloxMatchesItsPublishedVectors) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(ops::philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint64_t ones = ~uint64_t{0};
  EXPECT_EQ(ops::philox(ones, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(ops::philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, DrawsDependOnSeedOffsetAndIndexOnly) {
  const auto draw = [](const char* op, int64_t size, int64_t seed, int64_t offset) {
    return run(op, {}, {{"size", ints({size})}, {"seed", seed}, {"offset", offset}}).f;
  };
  const Values few = draw("rand", 5, 7, 0), many = draw("rand", 9, 7, 0);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(few, draw("rand", 5, 8, 0));
  EXPECT_NE(few, draw("rand", 5, 7, 1));
  EXPECT_EQ(draw("rand", 1, 0, 0)[0], (0x6627e8d5 >> 8) * 0x1p-24);
}

TEST(Random, HasTheRightMoments) {
  constexpr int64_t count = 100000;
  const auto moments = [&](const char* op) {
    double sum = 0, squares = 0;
    for (double x : run(op, {}, {{"size", ints({count})}, {"seed", 42}}).f) {
      sum += x;
      squares += x * x;
    }
    return std::pair(sum / count, squares / count);
  };
  const auto [uniform_mean, uniform_square] = moments("rand");
  EXPECT_NEAR(uniform_mean, 0.5, 0.005);
  EXPECT_NEAR(uniform_square, 1.0 / 3, 0.005);
  const auto [normal_mean, normal_square] = moments("randn");
  EXPECT_NEAR(normal_mean, 0, 0.02);
  EXPECT_NEAR(normal_square, 1, 0.02);
}

TEST(Random, IntegersStayInRange) {
  const RefTensor x =
      run("randint", {}, {{"low", -2}, {"high", 3}, {"size", ints({1000})}, {"seed", 1}});
  for (int value = -2; value < 3; ++value)
    EXPECT_GT(std::count(x.i.begin(), x.i.end(), value), 150) << value;
  EXPECT_EQ(*std::min_element(x.i.begin(), x.i.end()), -2);
  EXPECT_EQ(*std::max_element(x.i.begin(), x.i.end()), 2);
  EXPECT_ERROR(run("randint", {}, {{"low", 3}, {"high", 3}, {"size", 1}}),
               "high - low must lie between 1 and");
}

TEST(Random, DropoutKeepsTheMean) {
  const RefTensor x = counting({4});
  EXPECT_EQ(run("dropout", {x}).f, x.f) << "outside training";
  const RefTensor ones = run("ones", {}, {{"size", ints({10000})}});
  double sum = 0;
  for (double value : run("dropout", {ones}, {{"p", 0.25}, {"training", true}}).f) {
    EXPECT_TRUE(value == 0 || std::fabs(value - 4.0 / 3) < 1e-6) << value;
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 1, 0.03);
  EXPECT_ERROR(run("dropout", {x}, {{"p", 1.5}}), "p must lie between 0 and 1, not 1.5");
}

TEST(Indexing, GatherClampsAndCountsFromTheEnd) {
  const RefTensor x = counting({2, 3});
  EXPECT_EQ(run("gather", {x, i64({2, 2}, {0, -1, 5, -9})}, {{"dim", 1}}).f, (Values{0, 2, 5, 3}));
  EXPECT_EQ(run("gather", {x, i64({1, 2}, {1, 0})}, {{"dim", 0}}).f, (Values{3, 1}));
  EXPECT_EQ(run("index_select", {x, i64({2}, {2, 0})}, {{"dim", 1}}).f, (Values{2, 0, 5, 3}));
  EXPECT_EQ(run("take_along_dim", {x, i64({1, 1}, {1})}, {{"dim", 1}}).f, (Values{1, 4}));
  EXPECT_ERROR(run("gather", {x, f32({1, 1}, {0})}, {{"dim", 0}}),
               "index must be i32 or i64, not f32");
  EXPECT_ERROR(run("gather", {x, i64({3, 1}, {0, 0, 0})}, {{"dim", 1}}),
               "index of shape [3, 1] does not lie within x of shape [2, 3]");
  EXPECT_ERROR(run("gather", {f32({0}, {}), i64({1}, {0})}, {{"dim", 0}}),
               "dim 0 of [0] has nothing to index");
}

TEST(Indexing, EmbeddingTakesBothOrders) {
  const RefTensor weight = counting({3, 2}), indices = i64({2}, {2, 0});
  EXPECT_EQ(run("embedding", {indices, weight}).f, (Values{4, 5, 0, 1}));
  EXPECT_EQ(run("embedding", {weight, indices}).f, (Values{4, 5, 0, 1}));
  const SymInt B = SymInt::symbol("B"), S = SymInt::symbol("S");
  EXPECT_EQ(infer("embedding", {{DType::i64, {B, S}}, {DType::f16, {9, 4}}}), "f16[B, S, 4]");
  EXPECT_ERROR(infer("embedding", {{DType::i64, {B}}, {DType::f16, {9}}}),
               "weight must have two dims, not shape [9]");
}

TEST(Indexing, ScattersInOrder) {
  const RefTensor x = f32({3}, {10, 20, 30}), index = i64({4}, {0, 2, 0, -1});
  const RefTensor src = f32({4}, {1, 2, 3, 4});
  EXPECT_EQ(run("scatter_add", {x, index, src}, {{"dim", 0}}).f, (Values{14, 20, 36}));
  EXPECT_EQ(run("scatter", {x, index, src}, {{"dim", 0}}).f, (Values{3, 20, 4}));
  const RefTensor rows =
      run("scatter_add", {counting({2, 2}), i64({1, 2}, {1, 0}), f32({2, 2}, {5, 6, 7, 8})},
          {{"dim", 0}});
  EXPECT_EQ(rows.f, (Values{0, 7, 7, 3})) << "src beyond index is not used";
}

}  // namespace
}  // namespace tcc::ir
