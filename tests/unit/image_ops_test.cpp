// Windows as columns, blocks as channels, deformed and unevenly padded convolutions, normalisation
// in training: against numbers written down and against one another.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/builder.h"
#include "ir/passes/fold_batch_norm.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::counting;
using test::f32;
using test::run;
using test::run_all;
using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;

void expect_near(const Numbers& values, const Numbers& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t k = 0; k < values.size(); ++k) EXPECT_NEAR(values[k], expected[k], 1e-4) << k;
}

TEST(Unfold, HasAColumnForEachPlace) {
  const RefTensor out = run("unfold", {counting({1, 1, 2, 3})}, {{"kernel_size", ints({2, 2})}});
  EXPECT_EQ(out.shape, (Dims{1, 4, 2}));
  EXPECT_EQ(out.f, (Numbers{0, 1, 1, 2, 3, 4, 4, 5}));
  EXPECT_EQ(run("unfold", {f32({1, 1, 2}, {5, 7})},
                {{"kernel_size", ints({2})}, {"padding", ints({1, 0})}})
                .f,
            (Numbers{0, 5, 5, 7}));
}

TEST(Fold, AddsWhatOverlaps) {
  const Attrs attrs = {{"kernel_size", ints({2, 2})}};
  const RefTensor columns = run("unfold", {counting({1, 1, 2, 3})}, attrs);
  // The middle column of elements lies in both windows.
  EXPECT_EQ(
      run("fold", {columns}, {{"kernel_size", ints({2, 2})}, {"output_size", ints({2, 3})}}).f,
      (Numbers{0, 2, 2, 3, 8, 5}));
  EXPECT_ERROR(test::infer("fold", {{DType::f32, {1, 4, 3}}},
                           {{"kernel_size", ints({2, 2})}, {"output_size", ints({2, 3})}}),
               "x has 3 columns; the window has 2 places");
  EXPECT_ERROR(test::infer("fold", {{DType::f32, {1, 5, 2}}},
                           {{"kernel_size", ints({2, 2})}, {"output_size", ints({2, 3})}}),
               "no multiple of the kernel's 4 elements");
}

TEST(Blocks, BecomeChannelsAndBack) {
  const RefTensor x = counting({1, 2, 2, 4});
  const RefTensor channels = run("space_to_depth", {x}, {{"block_size", 2}});
  EXPECT_EQ(channels.shape, (Dims{1, 8, 1, 2}));
  EXPECT_EQ(channels.f, (Numbers{0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}));
  EXPECT_EQ(run("depth_to_space", {channels}, {{"block_size", 2}}).f, x.f);
  const RefTensor unshuffled = run("pixel_unshuffle", {x}, {{"downscale_factor", 2}});
  EXPECT_EQ(unshuffled.f, (Numbers{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}));
  EXPECT_EQ(run("pixel_shuffle", {unshuffled}, {{"upscale_factor", 2}}).f, x.f);
  EXPECT_EQ(run("depth_to_space", {unshuffled}, {{"block_size", 2}, {"mode", "CRD"}}).f, x.f);
  EXPECT_ERROR(test::infer("space_to_depth", {{DType::f32, {1, 1, 3, 4}}}, {{"block_size", 2}}),
               "must be multiples of 2, not 3");
}

TEST(LocalResponseNorm, CountsNeighbouringChannels) {
  const RefTensor x = f32({1, 4}, {1, 2, 3, 4});
  const auto norm = [&](const char* end) {
    return run("local_response_norm", {x},
               {{"size", 2}, {"alpha", 2.0}, {"beta", 1.0}, {"longer_end", end}})
        .f;
  };
  expect_near(norm("before"), {1.0 / 2, 2.0 / 6, 3.0 / 14, 4.0 / 26});
  expect_near(norm("after"), {1.0 / 6, 2.0 / 14, 3.0 / 26, 4.0 / 17});
}

TEST(Convolution, PadsBothEnds) {
  const RefTensor x = f32({1, 1, 3}, {1, 2, 3}), weight = f32({1, 1, 2}, {10, 1});
  EXPECT_EQ(run("conv1d", {x, weight}, {{"padding", ints({2, 0})}}).f, (Numbers{0, 1, 12, 23}));
  EXPECT_EQ(run("conv1d", {x, weight}, {{"padding", ints({0, 1})}}).f, (Numbers{12, 23, 30}));
  EXPECT_EQ(run("conv_transpose1d", {x, weight}).f, (Numbers{10, 21, 32, 3}));
  EXPECT_EQ(run("conv_transpose1d", {x, weight}, {{"padding", ints({1, 0})}}).f,
            (Numbers{21, 32, 3}));
  EXPECT_EQ(run("conv_transpose1d", {x, weight}, {{"padding", ints({0, -1})}}).f,
            (Numbers{10, 21, 32, 3, 0}));
  const RefTensor cube =
      run("conv_transpose3d", {counting({1, 1, 1, 1, 2}), f32({1, 1, 1, 2, 1}, {1, 2})},
          {{"stride", ints({1, 1, 2})}});
  EXPECT_EQ(cube.shape, (Dims{1, 1, 1, 2, 3}));
  EXPECT_EQ(cube.f, (Numbers{0, 0, 1, 0, 0, 2}));
}

TEST(DeformConv, MovesItsTaps) {
  const RefTensor x = counting({1, 1, 3, 3}), weight = f32({1, 1, 1, 2}, {1, 10});
  RefTensor offset(DType::f32, {1, 4, 3, 2});
  EXPECT_EQ(run("deform_conv2d", {x, offset, weight}).f, run("conv2d", {x, weight}).f);
  for (size_t k = 0; k < offset.f.size(); ++k)
    offset.f[k] = k < 6 ? 0.5 : k < 12 ? 0 : k < 18 ? 0 : -1;  // half a row down; a column left
  expect_near(run("deform_conv2d", {x, offset, weight}).f, {1.5, 12.5, 34.5, 45.5, 63, 73.5});
  RefTensor mask(DType::f32, {1, 2, 3, 2});
  for (size_t k = 0; k < mask.f.size(); ++k) mask.f[k] = k < 6 ? 2 : 0;
  RefTensor bias = f32({1}, {1});
  expect_near(run("deform_conv2d", {x, offset, weight, bias, mask}).f, {4, 6, 10, 12, 7, 8});
}

TEST(LayerNorm, ReturnsItsStatistics) {
  const auto out = run_all("layer_norm", {f32({2, 2}, {1, 3, -2, 4})},
                           {{"normalized_shape", 2}, {"eps", 0.0}, {"return_statistics", true}});
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].f, (Numbers{-1, 1, -1, 1}));
  EXPECT_EQ(out[1].shape, (Dims{2, 1}));
  EXPECT_EQ(out[1].f, (Numbers{2, 1}));
  expect_near(out[2].f, {1, 1.0 / 3});
}

TEST(BatchNorm, UpdatesTheRunningStatisticsInTraining) {
  const RefTensor x = f32({2, 1, 2}, {1, 3, 5, 7}), mean = f32({1}, {10}),
                  variance = f32({1}, {20});
  Attrs attrs = {{"training", true}, {"eps", 0.0}, {"momentum", 0.25}};
  const double deviation = std::sqrt(5.0);
  const auto out = run_all("batch_norm", {x, mean, variance}, attrs);
  ASSERT_EQ(out.size(), 3U);
  expect_near(out[0].f, {-3 / deviation, -1 / deviation, 1 / deviation, 3 / deviation});
  expect_near(out[1].f, {8.5});
  expect_near(out[2].f, {0.75 * 20 + 0.25 * 20 / 3});
  attrs["unbiased"] = false;
  expect_near(run_all("batch_norm", {x, mean, variance}, attrs)[2].f, {0.75 * 20 + 0.25 * 5});
}

TEST(BatchNorm, OfTheBatchIsNotFolded) {
  Graph graph;
  Builder b(graph);
  Value* x = graph.add_input("x", {DType::f32, {1, 2, 4}});
  const auto constant = [&](const Shape& shape) {
    std::vector<int64_t> sizes;
    for (const SymInt& dim : shape) sizes.push_back(dim.value());
    return graph.add_constant("", {DType::f32, shape}, make_splat(DType::f32, sizes, 1));
  };
  Value* y = b.op("conv1d", {x, constant({3, 2, 1})});
  Value* c3 = constant({3});
  graph.outputs = {b.op("batch_norm", {y, c3, c3}, {{"training", true}})};
  graph.output_names = {"y"};
  fold_batch_norm(graph);
  EXPECT_EQ(graph.outputs[0]->producer->op_name(), "batch_norm");
}

TEST(MeanVarianceNorm, AddsEpsToTheDeviation) {
  expect_near(
      run("mean_variance_norm", {f32({1, 3}, {0, 2, 4})}, {{"dim", ints({1})}, {"eps", 1.0}}).f,
      {-2 / (std::sqrt(8.0 / 3) + 1), 0, 2 / (std::sqrt(8.0 / 3) + 1)});
}

}  // namespace
}  // namespace tcc::ir
