// Resampling against numbers written down: ONNX's reference evaluator and PyTorch gave them.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/builder.h"
#include "ir/passes/decompose.h"
#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::counting;
using test::f32;
using test::run;
using Numbers = std::vector<double>;

void expect_near(const Numbers& values, const Numbers& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t k = 0; k < values.size(); ++k) EXPECT_NEAR(values[k], expected[k], 1e-4) << k;
}

Numbers resize(int64_t size, Attrs attrs, Numbers x = {1, 2, 4, 8, 16}) {
  attrs["size"] = ints({1, size});
  const auto extent = static_cast<int64_t>(x.size());
  return run("resize", {f32({1, extent}, x)}, std::move(attrs)).f;
}

// A pass for each dim; what one leaves to the next stays f32.
TEST(Resize, FiltersSixteenBitsWithOneRounding) {
  Graph graph;
  Builder b(graph);
  Value* x = graph.add_input("x", {DType::f16, {4, 6}});
  graph.outputs = {b.op("resize", {x}, {{"size", ints({9, 12})}, {"mode", std::string("cubic")}})};
  graph.output_names = {"y"};
  decompose(graph);
  int passes = 0;
  for (const auto& node : graph.nodes()) {
    if (node->op_name() != "filter_resample") continue;
    ++passes;
    EXPECT_EQ(node->outputs[0]->dtype(), DType::f32);
  }
  EXPECT_EQ(passes, 2);
  EXPECT_EQ(graph.outputs[0]->dtype(), DType::f16);
}

TEST(Resize, TakesTheNearestByEachRounding) {
  const auto nearest = [](const char* rounding) {
    return resize(10,
                  {{"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", rounding}});
  };
  EXPECT_EQ(nearest("floor"), (Numbers{1, 1, 2, 2, 4, 4, 8, 8, 16, 16}));
  EXPECT_EQ(nearest("round_prefer_floor"), (Numbers{1, 1, 2, 2, 4, 4, 8, 8, 16, 16}));
  EXPECT_EQ(nearest("ceil"), (Numbers{1, 2, 2, 4, 4, 8, 8, 16, 16, 16}));
  EXPECT_EQ(nearest("round_prefer_ceil"), (Numbers{1, 2, 2, 4, 4, 8, 8, 16, 16, 16}));
}

TEST(Resize, FollowsEachCoordinateTransformation) {
  expect_near(resize(7, {{"mode", "linear"},
                         {"scale", Numbers{1, 1.5}},
                         {"coordinate_transformation_mode", "half_pixel_symmetric"}}),
              {1, 1.66667, 2.66667, 4, 6.66667, 10.66667, 16});
  // The length that counts is 4 * 0.6 = 2.4, not the 2 elements of the result; 0.6 is f32's.
  expect_near(resize(2,
                     {{"mode", "linear"},
                      {"scale", Numbers{1, 0.6F}},
                      {"coordinate_transformation_mode", "align_corners"}},
                     {1, 2, 3, 4}),
              {1, 3.14286});
  expect_near(resize(5, {{"mode", "linear"},
                         {"coordinate_transformation_mode", "tf_crop_and_resize"},
                         {"roi", Numbers{0, 0.25, 1, 1.25}},
                         {"extrapolation_value", -7.0}}),
              {2, 4, 8, 16, -7});
  expect_near(
      resize(1, {{"mode", "linear"}, {"coordinate_transformation_mode", "pytorch_half_pixel"}}),
      {1});
  expect_near(resize(1, {{"mode", "linear"}}), {4});
}

TEST(Resize, FiltersByACubic) {
  expect_near(resize(8, {{"mode", "cubic"}}),
              {0.90717, 1.26831, 2.12958, 3.02252, 4.98816, 7.47717, 12.88452, 16.74268});
  expect_near(resize(8, {{"mode", "cubic"}, {"exclude_outside", true}, {"cubic_coeff_a", -0.5}}),
              {0.92804, 1.2941, 2.09387, 3.19373, 4.96802, 7.63647, 13.04304, 16.57565});
}

TEST(Resize, AveragesWithAntialias) {
  expect_near(resize(2, {{"mode", "cubic"}, {"antialias", true}}), {1.4075, 10.466});
  expect_near(resize(3, {{"mode", "linear"}, {"antialias", true}}), {1.375, 4.44444, 13});
  expect_near(resize(3, {{"mode", "linear"}, {"antialias", true}, {"exclude_outside", true}}),
              {1.42857, 4.44444, 12.57143});
}

TEST(Resize, ChangesAnyDims) {
  const RefTensor x = counting({2, 2, 2});
  EXPECT_EQ(run("resize", {x}, {{"size", ints({4, 2, 1})}, {"mode", "linear"}}).f,
            (Numbers{0.5, 2.5, 1.5, 3.5, 3.5, 5.5, 4.5, 6.5}));
  EXPECT_EQ(run("resize", {x}, {{"size", ints({2, 2, 2})}, {"mode", "cubic"}}).f, x.f);
  const RefTensor bytes = test::tensor(DType::u8, {2}, {10, 15});
  EXPECT_EQ(run("resize", {bytes}, {{"size", ints({3})}, {"mode", "linear"}}).i,
            (std::vector<int64_t>{10, 12, 15}));
}

TEST(Resize, ChecksItsAttributes) {
  const Type x = {DType::f32, {4, 4}};
  EXPECT_ERROR(test::infer("resize", {x}, {{"size", ints({4})}}), "size must have 2 entries");
  EXPECT_ERROR(test::infer("resize", {x}, {{"size", ints({4, 4})}, {"scale", Numbers{1}}}),
               "scale must have 2 entries");
  EXPECT_ERROR(test::infer("resize", {x}, {{"size", ints({4, 4})}, {"scale", Numbers{1, -2}}}),
               "scale -2 is out of range");
  EXPECT_ERROR(test::infer("resize", {x},
                           {{"size", ints({4, 4})},
                            {"coordinate_transformation_mode", "tf_crop_and_resize"}}),
               "roi must have 4 entries");
  EXPECT_ERROR(test::infer("resize", {x}, {{"size", ints({4, 2})}, {"antialias", true}}),
               "mode nearest has no antialias");
  EXPECT_ERROR(test::infer("resize", {{DType::f32, {0, 4}}}, {{"size", ints({2, 4})}}),
               "a dim of 0 cannot be resampled");
}

// torch.nn.functional.interpolate
TEST(Interpolate, KnowsPyTorchsFilters) {
  const RefTensor x = f32({1, 1, 1, 5}, {1, 2, 4, 8, 16});
  expect_near(run("interpolate", {x}, {{"size", ints({1, 8})}, {"mode", "bicubic"}}).f,
              {0.90717, 1.26831, 2.12958, 3.02252, 4.98816, 7.47717, 12.88452, 16.74268});
  expect_near(
      run("interpolate", {x}, {{"size", ints({1, 3})}, {"mode", "bilinear"}, {"antialias", true}})
          .f,
      {1.42857, 4.44444, 12.57143});
  expect_near(run("interpolate", {x}, {{"size", ints({1, 2})}, {"mode", "area"}}).f,
              {7.0 / 3, 28.0 / 3});
  EXPECT_ERROR(
      test::infer("interpolate", {{DType::f32, {1, 1, 4, 4}}}, {{"size", 2}, {"antialias", true}}),
      "antialias needs mode bilinear or bicubic");
}

TEST(GridSample, PadsInEachMode) {
  const RefTensor image = f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const RefTensor grid = f32({1, 1, 3, 2}, {-1.6, -0.4, 0.2, 0.3, 1.9, 1.2});
  const auto sample = [&](const char* mode, const char* padding, bool align) {
    return run("grid_sample", {image, grid},
               {{"mode", mode},
                {"padding_mode", padding},
                {"align_corners", align},
                {"clip_position", true}})
        .f;
  };
  expect_near(sample("bilinear", "zeros", false), {0, 4.7, 0});
  expect_near(sample("bilinear", "zeros", true), {0.76, 4.15, 0.54});
  expect_near(sample("bilinear", "border", false), {1.3, 4.7, 6});
  expect_near(sample("bilinear", "border", true), {1.9, 4.15, 6});
  expect_near(sample("bilinear", "reflection", false), {1.7, 4.7, 5.15});
  expect_near(sample("bilinear", "reflection", true), {2.5, 4.15, 4.8});
  expect_near(sample("nearest", "zeros", false), {0, 5, 0});
  expect_near(sample("nearest", "reflection", true), {2, 5, 5});
  expect_near(sample("bicubic", "zeros", true), {0.74552, 5.13387, 0.4728});
  expect_near(sample("bicubic", "border", false), {1.246, 4.86125, 6});
  expect_near(sample("bicubic", "reflection", false), {1.562, 4.86125, 5.68147});
  expect_near(sample("bicubic", "reflection", true), {2.08, 4.45075, 5.0655});
}

TEST(GridSample, TakesWhatIsNoNumberForOutside) {
  const RefTensor grid = f32({1, 1, 1, 2}, {std::nan(""), 0});
  EXPECT_EQ(run("grid_sample", {f32({1, 1, 1, 2}, {3, 5}), grid}).f, (Numbers{0}));
}

TEST(AffineGrid, MapsTheCenters) {
  const RefTensor theta = f32({1, 2, 3}, {1, 0.5, 0.25, 0, 2, -1});
  expect_near(run("affine_grid", {theta}, {{"size", ints({1, 1, 2, 2})}}).f,
              {-0.5, -2, 0.5, -2, 0, 0, 1, 0});
  expect_near(
      run("affine_grid", {theta}, {{"size", ints({1, 1, 2, 2})}, {"align_corners", true}}).f,
      {-1.25, -3, 0.75, -3, -0.25, 1, 1.75, 1});
}

TEST(RoiAlign, SamplesBins) {
  const RefTensor x = counting({1, 1, 4, 4});
  const RefTensor boxes = f32({2, 4}, {0.5, 0.5, 3, 2.5, -1, 0, 1, 5});
  const RefTensor images = test::i64({2}, {0, 0});
  const auto align = [&](const char* mode, bool aligned, int64_t ratio) {
    return run("roi_align", {x, boxes, images},
               {{"output_size", ints({2, 1})},
                {"mode", mode},
                {"aligned", aligned},
                {"sampling_ratio", ratio}})
        .f;
  };
  expect_near(align("avg", true, 0), {3.25, 7.25, 3.11111, 7.22222});
  expect_near(align("avg", true, 2), {3.25, 7.25, 3, 11.25});
  expect_near(align("avg", false, 0), {5.75, 9.75, 5.25, 8.05556});
  expect_near(align("avg", false, 2), {5.75, 9.75, 5.25, 6.125});
  expect_near(align("max", true, 0), {2.75, 4.58333, 4.66667, 12});
  expect_near(align("max", false, 2), {3.28125, 5.90625, 7, 12});
}

TEST(RoiPool, TakesTheMaximaOfBins) {
  const RefTensor x = counting({1, 1, 4, 4});
  // Both ends count, halves are rounded away from zero, and bins of 3 rows in 2 overlap.
  const RefTensor boxes = f32({3, 4}, {0, 0, 1, 2, 1.5, 1, 3, 1, 9, 9, 9, 9});
  EXPECT_EQ(
      run("roi_pool", {x, boxes, test::i64({3}, {0, 0, 0})}, {{"output_size", ints({2, 1})}}).f,
      (Numbers{5, 9, 7, 7, 0, 0}));
}

}  // namespace
}  // namespace tcc::ir
