// Pooling against numbers written down and plain loops.
#include <cmath>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::counting;
using test::f32;
using test::run;
using test::tensor;
using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;

TEST(MaxPool, TakesTheLargestOfEachWindow) {
  const RefTensor x = counting({1, 1, 4, 4});
  EXPECT_EQ(run("max_pool2d", {x}, {{"kernel_size", 2}}).f, (Numbers{5, 7, 13, 15}));
  EXPECT_EQ(run("max_pool2d", {x}, {{"kernel_size", 3}, {"stride", 1}}).f,
            (Numbers{10, 11, 14, 15}));
  EXPECT_EQ(run("max_pool1d", {f32({1, 5}, {1, 5, 2, 4, 3})},
                {{"kernel_size", 2}, {"stride", 1}, {"dilation", 2}})
                .f,
            (Numbers{2, 5, 3}));
  EXPECT_EQ(run("max_pool3d", {counting({1, 1, 2, 2, 2})}, {{"kernel_size", 2}}).f, Numbers{7});
}

TEST(MaxPool, PaddingNeverWins) {
  const RefTensor x = f32({1, 1, 3}, {-5, -6, -7});
  EXPECT_EQ(run("max_pool1d", {x}, {{"kernel_size", 3}, {"stride", 1}, {"padding", 1}}).f,
            (Numbers{-5, -5, -6}));
  const RefTensor bytes = tensor(DType::i8, {1, 1, 2}, {-128, -100});
  EXPECT_EQ(run("max_pool1d", {bytes}, {{"kernel_size", 2}, {"stride", 1}, {"padding", 1}}).i,
            (std::vector<int64_t>{-128, -100, -100}));
  EXPECT_TRUE(std::isnan(
      run("max_pool1d", {f32({1, 1, 2}, {std::nan(""), 1})}, {{"kernel_size", 2}}).f[0]));
}

TEST(MaxPool, CeilModeKeepsWindowsThatStartInside) {
  const RefTensor x = counting({1, 1, 5});
  EXPECT_EQ(run("max_pool1d", {x}, {{"kernel_size", 2}}).f, (Numbers{1, 3}));
  EXPECT_EQ(run("max_pool1d", {x}, {{"kernel_size", 2}, {"ceil_mode", true}}).f,
            (Numbers{1, 3, 4}));
  // ceil((3 + 2 - 2) / 2) + 1 = 3 windows, of which the last would start at 3: behind the input.
  EXPECT_EQ(test::infer("max_pool1d", {{DType::f32, {1, 1, 3}}},
                        {{"kernel_size", 2}, {"padding", 1}, {"ceil_mode", true}}),
            "f32[1, 1, 2]");
}

TEST(AvgPool, CountsThePaddingOrNot) {
  const RefTensor x = f32({1, 1, 3}, {3, 6, 9});
  const Attrs padded = {{"kernel_size", 3}, {"stride", 1}, {"padding", 1}};
  EXPECT_EQ(run("avg_pool1d", {x}, padded).f, (Numbers{3, 6, 5}));
  Attrs excluded = padded;
  excluded["count_include_pad"] = false;
  EXPECT_EQ(run("avg_pool1d", {x}, excluded).f, (Numbers{4.5, 6, 7.5}));
  // Elements that ceil_mode hangs over the end count neither way.
  EXPECT_EQ(run("avg_pool1d", {x}, {{"kernel_size", 2}, {"ceil_mode", true}}).f, (Numbers{4.5, 9}));
  EXPECT_EQ(run("avg_pool1d", {x}, {{"kernel_size", 2}, {"divisor_override", 1}}).f, Numbers{9});
}

TEST(AvgPool, AgreesWithLoops) {
  const int64_t h = 5, w = 6, kernel[] = {3, 2}, stride[] = {2, 1}, padding[] = {1, 1};
  const RefTensor x = counting({2, 1, h, w});
  for (const bool include : {true, false}) {
    const RefTensor out = run("avg_pool2d", {x},
                              {{"kernel_size", ints({3, 2})},
                               {"stride", ints({2, 1})},
                               {"padding", 1},
                               {"count_include_pad", include}});
    ASSERT_EQ(out.shape, (Dims{2, 1, 3, 7}));
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 7; ++j) {
          double sum = 0, count = 0;
          for (int64_t p = 0; p < kernel[0]; ++p)
            for (int64_t q = 0; q < kernel[1]; ++q) {
              const int64_t y = i * stride[0] - padding[0] + p, z = j * stride[1] - padding[1] + q;
              const bool inside = y >= 0 && y < h && z >= 0 && z < w;
              if (inside) sum += x.f[static_cast<size_t>((n * h + y) * w + z)];
              if (inside || include) ++count;
            }
          EXPECT_DOUBLE_EQ(out.f[static_cast<size_t>((n * 3 + i) * 7 + j)], sum / count);
        }
  }
}

TEST(AdaptivePool, SplitsIntoOverlappingParts) {
  const RefTensor x = f32({1, 1, 5}, {1, 2, 3, 4, 5});
  // Parts [0, 2), [1, 4), [3, 5).
  EXPECT_EQ(run("adaptive_avg_pool1d", {x}, {{"output_size", 3}}).f, (Numbers{1.5, 3, 4.5}));
  EXPECT_EQ(run("adaptive_max_pool1d", {x}, {{"output_size", 3}}).f, (Numbers{2, 4, 5}));
  EXPECT_EQ(run("adaptive_avg_pool1d", {x}, {{"output_size", 1}}).f, Numbers{3});
  EXPECT_EQ(run("adaptive_avg_pool1d", {x}, {{"output_size", 7}}).f,
            (Numbers{1, 1.5, 2.5, 3, 3.5, 4.5, 5}));
  const RefTensor image = counting({1, 1, 4, 6});
  EXPECT_EQ(run("adaptive_avg_pool2d", {image}, {{"output_size", ints({2, 3})}}).f,
            (Numbers{3.5, 5.5, 7.5, 15.5, 17.5, 19.5}));
  EXPECT_EQ(run("adaptive_max_pool2d", {image}, {{"output_size", 1}}).f, Numbers{23});
}

TEST(AdaptivePool, ToOneElementIsAReduction) {
  Graph graph;
  Value* x = graph.add_input("x", {DType::f32, {2, 3, 7, 7}});
  Builder b(graph);
  Value* pooled = b.op("adaptive_avg_pool2d", {x}, {{"output_size", 1}});
  const auto composed = pooled->producer->op->compose(b, *pooled->producer);
  EXPECT_EQ(composed[0]->producer->op_name(), "mean");
  EXPECT_EQ(to_string(composed[0]->type), "f32[2, 3, 1, 1]");
}

TEST(Pooling, ChecksItsSizes) {
  const Type x = {DType::f32, {1, 1, 4, 4}};
  EXPECT_ERROR(test::infer("max_pool2d", {x}, {{"kernel_size", 5}}), "a window of 5 does not fit");
  EXPECT_ERROR(test::infer("max_pool2d", {x}, {{"kernel_size", 2}, {"padding", 2}}),
               "padding 2 is more than half of the window's 2");
  EXPECT_ERROR(test::infer("max_pool2d", {{DType::f32, {4, 4}}}, {{"kernel_size", 2}}),
               "must have 2 spatial dims");
  EXPECT_ERROR(test::infer("max_pool2d", {x}, {{"kernel_size", 0}}),
               "kernel_size 0 is out of range");
  EXPECT_ERROR(test::infer("avg_pool2d", {{DType::i32, {1, 1, 4, 4}}}, {{"kernel_size", 2}}),
               "must be a float tensor");
  const SymInt B = SymInt::symbol("B");
  EXPECT_EQ(test::infer("max_pool2d", {{DType::f32, {B, 3, 8, 8}}},
                        {{"kernel_size", 3}, {"stride", 2}, {"padding", 1}}),
            "f32[B, 3, 4, 4]");
}

// ---- ONNX's generality; the numbers are its reference evaluator's

void expect_near(const Numbers& values, const Numbers& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t k = 0; k < values.size(); ++k) EXPECT_NEAR(values[k], expected[k], 1e-4) << k;
}

TEST(AvgPool, PadsBothEndsAndDilates) {
  const RefTensor x = counting({1, 1, 4, 4});
  Attrs uneven = {
      {"kernel_size", ints({3, 2})}, {"stride", ints({2, 1})}, {"padding", ints({1, 0, 0, 1})}};
  expect_near(run("avg_pool2d", {x}, uneven).f,
              {1.66667, 2.33333, 3, 1.66667, 8.5, 9.5, 10.5, 5.5});
  uneven["count_include_pad"] = false;
  expect_near(run("avg_pool2d", {x}, uneven).f, {2.5, 3.5, 4.5, 5, 8.5, 9.5, 10.5, 11});
  expect_near(run("avg_pool2d", {x},
                  {{"kernel_size", 2},
                   {"stride", 1},
                   {"dilation", 2},
                   {"padding", 1},
                   {"count_include_pad", false}})
                  .f,
              {5, 5, 6, 6, 5, 5, 6, 6, 9, 9, 10, 10, 9, 9, 10, 10});
}

TEST(MaxPool, SaysWhereTheMaximumLies) {
  const RefTensor x = f32({1, 1, 2, 4}, {1, 5, 5, 0, 2, 3, -1, 4});
  const auto both =
      test::run_all("max_pool2d_with_indices", {x}, {{"kernel_size", 2}, {"stride", ints({1, 2})}});
  EXPECT_EQ(both[0].f, (Numbers{5, 5}));
  EXPECT_EQ(both[1].i, (std::vector<int64_t>{1, 2}));
  // The first of equals; padding is never it, even where nothing is larger.
  const RefTensor least = tensor(DType::i8, {1, 1, 3}, {-128, -128, -128});
  EXPECT_EQ(
      run("max_pool_indices", {least}, {{"kernel_size", ints({3})}, {"stride", 1}, {"padding", 1}})
          .i,
      (std::vector<int64_t>{0, 0, 1}));
}

TEST(MaxUnpool, WritesWhereTheMaximumLay) {
  const RefTensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  const RefTensor indices = test::i64({1, 1, 2, 2}, {5, 7, 13, 15});
  EXPECT_EQ(run("max_unpool2d", {x, indices}, {{"kernel_size", 2}}).f,
            (Numbers{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}));
  EXPECT_EQ(test::infer("max_unpool2d", {test::type_of(x), test::type_of(indices)},
                        {{"kernel_size", 2}, {"output_size", ints({5, 5})}}),
            "f32[1, 1, 5, 5]");
}

TEST(LpPool, TakesTheNormOfEachWindow) {
  const RefTensor x = f32({1, 1, 4}, {3, -4, -1, 2});
  expect_near(run("lp_pool1d", {x}, {{"kernel_size", 2}, {"norm_type", 2.0}}).f, {5, 2.23607});
  // Odd powers of x itself cancel, and a negative sum counts as none.
  const Attrs cubes = {{"kernel_size", 2}, {"norm_type", 3.0}};
  expect_near(run("lp_pool1d", {x}, cubes).f, {0, std::cbrt(7)});
  Attrs absolute = cubes;
  absolute["absolute"] = true;
  expect_near(run("lp_pool1d", {x}, absolute).f, {std::cbrt(91), std::cbrt(9)});
}

}  // namespace
}  // namespace tcc::ir
