// quantize, dequantize and dynamic_quantize against numbers written down; some are ONNX's own
// conformance cases.
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
using test::run_all;
using test::tensor;
using test::values;
using Numbers = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Quantize, RoundsHalvesToEvenAndSaturates) {
  const RefTensor x = f32({6}, {0, 2, 3, 1000, -254, -1000}), scale = f32({}, {2});
  const RefTensor y = run("quantize", {x, scale, tensor(DType::u8, {}, {128})});
  EXPECT_EQ(y.dtype, DType::u8);
  EXPECT_EQ(values(y), (Numbers{128, 129, 130, 255, 1, 0}));
  const RefTensor halves = f32({4}, {1, 3, -1, -3});
  EXPECT_EQ(values(run("quantize", {halves, scale}, {{"dtype", DType::i8}})),
            (Numbers{0, 2, 0, -2}));
}

TEST(Quantize, OfWhatIsNoNumber) {
  const RefTensor x = f32({3}, {kInf, -kInf, std::nan("")}), scale = f32({}, {0.5});
  EXPECT_EQ(values(run("quantize", {x, scale, tensor(DType::u8, {}, {7})})), (Numbers{255, 0, 7}));
  EXPECT_EQ(
      values(run("quantize", {x, scale, tensor(DType::i32, {}, {-7})}, {{"dtype", DType::i32}})),
      (Numbers{2147483647, -2147483648.0, -7}));
}

TEST(Quantize, AlongADimAndInBlocks) {
  const RefTensor x = f32({1, 3, 2, 1}, {-162, 10, 100, 232, -20, -50});
  const RefTensor scale = f32({3}, {2, 4, 5}), zero_point = tensor(DType::u8, {3}, {84, 24, 196});
  EXPECT_EQ(values(run("quantize", {x, scale, zero_point})), (Numbers{3, 89, 49, 82, 192, 186}));
  const RefTensor row = f32({1, 5}, {1, 2, 30, 40, 500}), blocks = f32({1, 3}, {1, 10, 100});
  EXPECT_EQ(values(run("quantize", {row, blocks}, {{"block_size", 2}})), (Numbers{1, 2, 3, 4, 5}));
  EXPECT_ERROR(
      test::infer("quantize", {{DType::f32, {2, 5}}, {DType::f32, {1, 3}}}, {{"block_size", 2}}),
      "scale has the shape [1, 3]; one element or [2, 3] fit x");
  EXPECT_ERROR(test::infer("quantize", {{DType::f32, {5}}, {DType::f32, {}}, {DType::i8, {}}}),
               "zero_point is i8, not u8");
}

TEST(Dequantize, AlongADimAndInBlocks) {
  const RefTensor x = tensor(DType::u8, {4}, {0, 3, 128, 255});
  EXPECT_EQ(values(run("dequantize", {x, f32({}, {2}), tensor(DType::u8, {}, {128})})),
            (Numbers{-256, -250, 0, 254}));
  const RefTensor image = tensor(DType::u8, {1, 3, 2}, {3, 89, 34, 200, 5, 24});
  const RefTensor zero_point = tensor(DType::u8, {3}, {84, 24, 196});
  EXPECT_EQ(values(run("dequantize", {image, f32({3}, {2, 4, 5}), zero_point})),
            (Numbers{-162, 10, 40, 704, -955, -860}));
  const RefTensor row = tensor(DType::i16, {1, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(values(run("dequantize", {row, f32({1, 3}, {1, 10, 100})}, {{"block_size", 2}})),
            (Numbers{1, 2, 30, 40, 500}));
}

TEST(DynamicQuantize, TakesScaleAndZeroPointFromTheRange) {
  const auto expect = [](const Numbers& x, const Numbers& y, double scale, double zero_point) {
    const auto results = run_all("dynamic_quantize", {f32({6}, x)});
    EXPECT_EQ(values(results[0]), y);
    EXPECT_NEAR(results[1].f[0], scale, 1e-7);
    EXPECT_EQ(values(results[2]), Numbers{zero_point});
  };
  expect({0, 2, -3, -2.6, 1.34, 0.6}, {153, 255, 0, 20, 221, 184}, 5.0 / 255, 153);
  expect({-1, -2.1, -1.3, -2.5, -3.34, -4}, {191, 121, 172, 96, 42, 0}, 4.0 / 255, 255);
  expect({1, 2.1, 1.3, 2.5, 3.34, 1.5}, {76, 160, 99, 191, 255, 115}, 3.34 / 255, 0);
  // f32 decides the tie of a symmetric range: 1 / (2 / 255) is just below 127.5.
  expect({-1, 1, 0, 0.5, -0.5, 0}, {0, 254, 127, 191, 63, 127}, 2.0 / 255, 127);
  expect({0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, 1.0 / 255, 0);
}

}  // namespace
}  // namespace tcc::ir
