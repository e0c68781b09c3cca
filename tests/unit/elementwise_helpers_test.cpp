// Elementwise ops: promotion, broadcasting and refusals, and results against numbers worked out
// from PyTorch's semantics.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/expect_error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

using test::f32;
using test::i64;
using test::infer;
using test::run;
using test::tensor;
using Values = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Values of_two(std::string_view op, const Values& a, const Values& b, Attrs attrs = {}) {
  const auto n = static_cast<int64_t>(a.size());
  return test::values(run(op, {f32({n}, a), f32({n}, b)}, std::move(attrs)));
}
Values of_ints(std::string_view op, const Values& a, const Values& b, Attrs attrs = {}) {
  const auto n = static_cast<int64_t>(a.size());
  return test::values(run(op, {i64({n}, a), i64({n}, b)}, std::move(attrs)));
}
Values of(std::string_view op, const Values& x, Attrs attrs = {}) {
  return test::values(run(op, {f32({static_cast<int64_t>(x.size())}, x)}, std::move(attrs)));
}

void expect_near(const Values& actual, const Values& expected, double tolerance = 1e-6) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) {
    if (std::isnan(expected[k]))
      EXPECT_TRUE(std::isnan(actual[k])) << k << ": " << actual[k];
    else if (std::isinf(expected[k]))
      EXPECT_EQ(actual[k], expected[k]) << k;
    else
      EXPECT_NEAR(actual[k], expected[k], tolerance) << k;
  }
}

TEST(Elementwise, PromotesAndBroadcasts) {
  using enum DType;
  EXPECT_EQ(infer("add", {{f16, {2, 1}}, {DType::f32, {3}}}), "f32[2, 3]");
  EXPECT_EQ(infer("mul", {{f16, {4}}, {bf16, {1}}}), "f32[4]");
  EXPECT_EQ(infer("sub", {{DType::i64, {}}, {f16, {5}}}), "f16[5]");
  EXPECT_EQ(infer("add", {{u8, {2}}, {i8, {2}}}), "i16[2]");
  EXPECT_EQ(infer("div", {{i32, {2}}, {i32, {2}}}), "f32[2]");
  EXPECT_EQ(infer("div", {{i32, {2}}, {i32, {2}}}, {{"rounding_mode", "floor"}}), "i32[2]");
  EXPECT_EQ(infer("lt", {{i32, {0, 3}}, {f16, {1, 3}}}), "bool[0, 3]");
  EXPECT_EQ(infer("exp", {{DType::i64, {2}}}), "f32[2]");
  EXPECT_EQ(infer("relu", {{i32, {2}}}), "i32[2]");
  EXPECT_EQ(infer("where", {{boolean, {2, 1}}, {f16, {3}}, {DType::f32, {}}}), "f32[2, 3]");
  const SymInt B = SymInt::symbol("B");
  EXPECT_EQ(infer("add", {{DType::f32, {B, 1}}, {DType::f32, {7}}}), "f32[B, 7]");
}

TEST(Elementwise, RefusesWhatPyTorchRefuses) {
  using enum DType;
  EXPECT_ERROR(infer("sub", {{boolean, {2}}, {boolean, {2}}}), "sub: is not defined for bool");
  EXPECT_ERROR(infer("gelu", {{i32, {2}}}), "gelu: is not defined for i32");
  EXPECT_ERROR(infer("bitwise_and", {{DType::f32, {2}}, {i32, {2}}}), "is not defined for f32");
  EXPECT_ERROR(infer("where", {{i32, {2}}, {i32, {2}}, {i32, {2}}}),
               "condition must be bool, not i32");
  EXPECT_ERROR(infer("add", {{DType::f32, {2}}, {DType::f32, {3}}}),
               "shapes [2] and [3] do not broadcast");
  EXPECT_ERROR(infer("clamp", {{i32, {2}}}, {{"min", 0.5}}), "min = 0.5 is not a value of i32");
  EXPECT_ERROR(infer("clamp", {{u8, {2}}}, {{"max", 256}}), "max = 256 is not a value of u8");
  EXPECT_ERROR(infer("masked_fill", {{i32, {2}}, {boolean, {2}}}, {{"value", -kInf}}),
               "value = -inf is not a value of i32");
  EXPECT_ERROR(infer("hardtanh", {{DType::f32, {2}}}, {{"min_val", 2.0}, {"max_val", 1.0}}),
               "min_val 2 is above max_val 1");
}

TEST(Elementwise, ReadsBroadcastOperands) {
  const RefTensor out = run("add", {f32({2, 1}, {10, 20}), i64({3}, {1, 2, 3})});
  EXPECT_EQ(out.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(out.f, (Values{11, 12, 13, 21, 22, 23}));
}

TEST(Elementwise, DivisionsAndRemaindersFollowSigns) {
  const Values a = {7, -7, 7, -7, 6, 0}, b = {2, 2, -2, -2, 3, -5};
  EXPECT_EQ(of_ints("floor_divide", a, b), (Values{3, -4, -4, 3, 2, 0}));
  EXPECT_EQ(of_ints("remainder", a, b), (Values{1, 1, -1, -1, 0, 0}));
  EXPECT_EQ(of_ints("fmod", a, b), (Values{1, -1, 1, -1, 0, 0}));
  EXPECT_EQ(of_ints("div", a, b, {{"rounding_mode", "trunc"}}), (Values{3, -3, -3, 3, 2, 0}));
  EXPECT_EQ(of_ints("div", a, b), (Values{3.5, -3.5, -3.5, 3.5, 2, -0.0}));
  EXPECT_EQ(of_two("floor_divide", a, b), (Values{3, -4, -4, 3, 2, 0}));
  EXPECT_EQ(of_two("remainder", {5.5, -5.5, 5.5, -5.5}, {2, 2, -2, -2}),
            (Values{1.5, 0.5, -0.5, -1.5}));
  EXPECT_EQ(of_two("fmod", {5.5, -5.5, 5.5, -5.5}, {2, 2, -2, -2}), (Values{1.5, -1.5, 1.5, -1.5}));
  // 1 / 0.1 rounds to 10, but 0.1 is a little more than a tenth: the quotient lies below 10.
  EXPECT_EQ(of_two("floor_divide", {1, 1}, {0.1, 0}), (Values{9, kInf}));
  expect_near(of_two("remainder", {1, kInf, 1, 1}, {kInf, 1, 0, -kInf}), {1, kNan, kNan, -kInf});
}

TEST(Elementwise, IntegerDivisionByZeroIsDefined) {
  EXPECT_EQ(of_ints("floor_divide", {5, -5}, {0, 0}), (Values{0, 0}));
  EXPECT_EQ(of_ints("remainder", {5, -5}, {0, 0}), (Values{5, -5}));
  RefTensor lowest = i64({1}, {0});
  lowest.i[0] = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(run("floor_divide", {lowest, i64({1}, {-1})}).i, lowest.i) << "wraps";
  EXPECT_EQ(run("remainder", {lowest, i64({1}, {-1})}).i[0], 0);
}

TEST(Elementwise, UnsignedNumbersKeepTheirOrder) {
  RefTensor big(DType::u64, {1}), one(DType::u64, {1});
  big.i[0] = -1;  // 2^64 - 1
  one.i[0] = 1;
  EXPECT_EQ(run("gt", {big, one}).i[0], 1);
  EXPECT_EQ(run("maximum", {big, one}).i[0], -1);
  EXPECT_EQ(run("floor_divide", {big, tensor(DType::u64, {1}, {2})}).i[0],
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(run("cast", {big}, {{"dtype", DType::f64}}).f[0], 0x1p64);
}

TEST(Elementwise, PowersOfSpecialNumbers) {
  expect_near(
      of_two("pow", {2, -2, -2, 0, 0, -8, kNan, -kInf}, {3, 3, 0.5, 0, -1, 1.0 / 3, 0, 0.5}),
      {8, -8, kNan, 1, kInf, kNan, 1, kInf});
  EXPECT_EQ(of_ints("pow", {2, -3, 2, 1, -1, -1, 0}, {10, 3, -1, -5, -3, -4, 0}),
            (Values{1024, -27, 0, 1, -1, 1, 1}));
}

TEST(Elementwise, NanSpreadsThroughMaximaAndClamps) {
  expect_near(of_two("maximum", {1, kNan, 3}, {2, 2, kNan}), {2, kNan, kNan});
  expect_near(of_two("minimum", {1, kNan, 3}, {2, 2, kNan}), {1, kNan, kNan});
  expect_near(of("clamp", {-5, 0, 5, kNan}, {{"min", -1.0}, {"max", 2.0}}), {-1, 0, 2, kNan});
  EXPECT_EQ(of("clamp", {-5, 5}, {{"max", 2.0}}), (Values{-5, 2}));
  EXPECT_EQ(of("clamp", {0, 9}, {{"min", 5.0}, {"max", 2.0}}), (Values{2, 2})) << "max wins";
  expect_near(of("relu", {-1, 0, 2, kNan}), {0, 0, 2, kNan});
}

TEST(Elementwise, ComparesNanAsUnequal) {
  EXPECT_EQ(of_two("eq", {kNan, 1}, {kNan, 1}), (Values{0, 1}));
  EXPECT_EQ(of_two("ne", {kNan, 1}, {kNan, 1}), (Values{1, 0}));
  EXPECT_EQ(of_two("ge", {kNan, 1}, {0, 1}), (Values{0, 1}));
  EXPECT_EQ(of("logical_not", {kNan, 0, -0.0, 2}), (Values{0, 1, 1, 0}));
  EXPECT_EQ(of_two("logical_and", {kNan, 0}, {1, 1}), (Values{1, 0}));
}

TEST(Elementwise, RoundsHalvesToEven) {
  EXPECT_EQ(of("round", {0.5, 1.5, 2.5, -0.5, -1.5, 2.4}), (Values{0, 2, 2, 0, -2, 2}));
  EXPECT_EQ(of("trunc", {1.7, -1.7}), (Values{1, -1}));
  EXPECT_EQ(of("floor", {1.7, -1.2}), (Values{1, -2}));
  EXPECT_EQ(of("ceil", {1.2, -1.7}), (Values{2, -1}));
  expect_near(of("frac", {1.75, -1.75}), {0.75, -0.75});
}

TEST(Elementwise, Bits) {
  EXPECT_EQ(of_ints("bitwise_and", {12, -1}, {10, 5}), (Values{8, 5}));
  EXPECT_EQ(of_ints("bitwise_xor", {12, -1}, {10, 5}), (Values{6, -6}));
  EXPECT_EQ(of_ints("bitwise_left_shift", {1, 1, 3, 1}, {4, 64, -1, 63}),
            (Values{16, 0, 0, -0x1p63}));
  EXPECT_EQ(of_ints("bitwise_right_shift", {-16, -16, 16, 5}, {2, 99, 99, -1}),
            (Values{-4, -1, 0, 0}));
  EXPECT_EQ(run("bitwise_not", {tensor(DType::u8, {2}, {0, 250})}).i,
            (std::vector<int64_t>{255, 5}));
  EXPECT_EQ(run("bitwise_not", {tensor(DType::boolean, {2}, {0, 1})}).i,
            (std::vector<int64_t>{1, 0}));
}

TEST(Elementwise, Activations) {
  expect_near(of("gelu", {-1, 0, 1, 3}), {-0.15865525, 0, 0.84134475, 2.99595031});
  expect_near(of("gelu", {-1, 0, 1, 3}, {{"approximate", "tanh"}}),
              {-0.15880801, 0, 0.84119199, 2.99636261});
  expect_near(of("silu", {-2, 0, 2}), {-0.23840584, 0, 1.76159416});
  expect_near(of("mish", {-2, 0, 1, 50}), {-0.25250148, 0, 0.86509839, 50});
  expect_near(of("softplus", {-100, 0, 1, 100}), {0, 0.69314718, 1.31326169, 100});
  expect_near(of("softplus", {1, 2}, {{"beta", 2.0}, {"threshold", 3.0}}), {1.06346401, 2});
  expect_near(of("logsigmoid", {-100, 0, 100}), {-100, -0.69314718, 0});
  expect_near(of("elu", {-1, 2}, {{"alpha", 0.5}}), {-0.31606028, 2});
  expect_near(of("celu", {-1, 2}, {{"alpha", 0.5}}), {-0.43233236, 2});
  expect_near(of("selu", {-1, 1}), {-1.11133074, 1.05070099});
  expect_near(of("leaky_relu", {-2, 3}), {-0.02, 3});
  expect_near(of("hardsigmoid", {-4, 0, 1, 4}), {0, 0.5, 0.66666667, 1});
  expect_near(of("hardswish", {-4, -1, 1, 4}), {0, -0.33333333, 0.66666667, 4});
  expect_near(of("hardtanh", {-4, 0.5, 4}), {-1, 0.5, 1});
  expect_near(of("relu6", {-4, 3, 9}), {0, 3, 6});
  expect_near(of("softshrink", {-1, 0.2, 1, kNan}), {-0.5, 0, 0.5, kNan});
  expect_near(of("hardshrink", {-1, 0.2, 0.5, kNan}), {-1, 0, 0, kNan});
  expect_near(of("tanhshrink", {1}), {0.23840584});
  expect_near(of("threshold", {0.1, 0.2}, {{"threshold", 0.1}, {"value", 20.0}}), {20, 0.2});
  expect_near(of("softsign", {-1, 3}), {-0.5, 0.75});
  expect_near(of("logit", {0, 0.5}, {{"eps", 0.125}}), {-1.94591015, 0});
}

TEST(Elementwise, PreluTakesTheChannelsSlope) {
  const RefTensor x = f32({1, 2, 2}, {-1, 2, -3, -4});
  EXPECT_EQ(run("prelu", {x, f32({2}, {0.5, 0.25})}).f, (Values{-0.5, 2, -0.75, -1}));
  EXPECT_EQ(run("prelu", {x, f32({1}, {0.5})}).f, (Values{-0.5, 2, -1.5, -2}));
  EXPECT_ERROR(run("prelu", {x, f32({3}, {1, 1, 1})}),
               "weight must have 1 element or one per channel, 2, or broadcast to x");
}

TEST(Elementwise, SignsAndSpecialNumbers) {
  EXPECT_EQ(of("sign", {-3, 0, -0.0, 2, kNan}), (Values{-1, 0, 0, 1, 0}));
  EXPECT_EQ(of("isnan", {kNan, kInf, 1}), (Values{1, 0, 0}));
  EXPECT_EQ(of("isinf", {kNan, -kInf, 1}), (Values{0, 1, 0}));
  EXPECT_EQ(of("isfinite", {kNan, kInf, 1}), (Values{0, 0, 1}));
  EXPECT_EQ(of_two("copysign", {3, -3}, {-0.0, 1}), (Values{-3, 3}));
  const double largest = std::numeric_limits<float>::max();
  EXPECT_EQ(of("nan_to_num", {kNan, kInf, -kInf, 7}), (Values{0, largest, -largest, 7}));
  EXPECT_EQ(of("nan_to_num", {kNan, kInf, -kInf}, {{"nan", 1.0}, {"posinf", 2.0}, {"neginf", 3.0}}),
            (Values{1, 2, 3}));
  expect_near(of_two("hypot", {3, kInf, kNan, 0}, {4, kNan, 1, 0}), {5, kInf, kNan, 0});
  EXPECT_DOUBLE_EQ(of_two("hypot", {1e200}, {1e200})[0], 1e200 * std::sqrt(2.0));
}

TEST(Elementwise, CastsSaturateWrapAndRound) {
  const auto cast = [](const RefTensor& x, DType dtype) {
    return test::values(run("cast", {x}, {{"dtype", dtype}}));
  };
  const RefTensor x = f32({6}, {-1.7, 300.5, 1e30, kNan, -kInf, 0.3});
  EXPECT_EQ(cast(x, DType::u8), (Values{0, 255, 255, 0, 0, 0}));
  EXPECT_EQ(cast(x, DType::i8), (Values{-1, 127, 127, 0, -128, 0}));
  EXPECT_EQ(cast(x, DType::i64), (Values{-1, 300, 0x1p63, 0, -0x1p63, 0}));
  EXPECT_EQ(cast(x, DType::boolean), (Values{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(cast(i64({3}, {257, -1, 0}), DType::u8), (Values{1, 255, 0}));
  EXPECT_EQ(cast(i64({3}, {257, -1, 0}), DType::boolean), (Values{1, 1, 0}));
}

TEST(Elementwise, SelectsAndCombines) {
  const RefTensor mask = tensor(DType::boolean, {3}, {1, 0, 1});
  const RefTensor x = f32({3}, {1, 2, 3});
  EXPECT_EQ(run("where", {mask, x, f32({}, {9})}).f, (Values{1, 9, 3}));
  EXPECT_EQ(run("masked_fill", {x, mask}, {{"value", -kInf}}).f, (Values{-kInf, 2, -kInf}));
  EXPECT_EQ(run("lerp", {x, f32({3}, {3, 4, 5}), f32({}, {0.25})}).f, (Values{1.5, 2.5, 3.5}));
  EXPECT_EQ(run("addcmul", {x, x, x}, {{"value", 2.0}}).f, (Values{3, 10, 21}));
  EXPECT_EQ(run("addcdiv", {x, x, f32({}, {2})}, {{"value", 2.0}}).f, (Values{2, 4, 6}));
}

}  // namespace
}  // namespace tcc::ir
