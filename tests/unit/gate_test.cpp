// The tuner's gate: rounding passes, errors do not.
#include "autotune/gate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tcc::autotune {
namespace {

template <class T>
GateResult gate(const std::vector<T>& expected, const std::vector<T>& got, DType dtype,
                double combined = 1) {
  return compare_with(std::as_bytes(std::span(expected)), std::as_bytes(std::span(got)),
                      {.dtype = dtype, .elements = static_cast<int64_t>(got.size())}, combined);
}

TEST(GateTest, RoundingPassesAndErrorsDoNot) {
  std::vector<float> expected(1000), got(1000);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = 1.0f + static_cast<float>(i) * 0.001f;
    got[i] = expected[i] * (1 + 4e-7f);
  }
  GateResult result = gate(expected, got, DType::f32);
  EXPECT_TRUE(result.pass) << result.reason;
  EXPECT_GT(result.error, 0);
  EXPECT_LT(result.error, 1);
  got[500] += 0.01f;
  result = gate(expected, got, DType::f32);
  EXPECT_FALSE(result.pass);
  EXPECT_NE(result.reason.find("element 500"), std::string::npos) << result.reason;
  // One term of a sum of 1000 that was left out.
  for (size_t i = 0; i < expected.size(); ++i) got[i] = expected[i] * 0.999f;
  EXPECT_FALSE(gate(expected, got, DType::f32, 1000).pass);
}

TEST(GateTest, SpecialValuesStandWhereTheyStood) {
  const float nan = std::nanf(""), inf = INFINITY;
  EXPECT_TRUE(gate<float>({1, nan, inf}, {1, nan, inf}, DType::f32).pass);
  EXPECT_FALSE(gate<float>({1, nan, inf}, {1, nan, -inf}, DType::f32).pass);
  EXPECT_FALSE(gate<float>({1, 2, 3}, {1, nan, 3}, DType::f32).pass);
  EXPECT_FALSE(gate<float>({0, 0}, {0, 1e-20f}, DType::f32).pass);
  EXPECT_TRUE(gate<float>({0, 0}, {0, -0.0f}, DType::f32).pass);
}

TEST(GateTest, IntegersAreExact) {
  EXPECT_TRUE(gate<int32_t>({1, -2}, {1, -2}, DType::i32).pass);
  EXPECT_EQ(gate<int32_t>({1, -2}, {1, -3}, DType::i32).reason, "element 1 is -3, not -2");
}

// A value that was rounded to bf16 on its way may be the next one: that is no error.
TEST(GateTest, CoarserTypesOnTheWayWidenTheTolerance) {
  const BenchOutput plain{.dtype = DType::f32, .elements = 2};
  const BenchOutput rounded{.dtype = DType::f32, .elements = 2, .rounded = DType::bf16};
  const std::vector<float> expected = {1, 2}, got = {1 + 1 / 128.0f, 2};
  const auto a = std::as_bytes(std::span(expected)), b = std::as_bytes(std::span(got));
  EXPECT_FALSE(compare_with(a, b, plain, 1).pass);
  EXPECT_TRUE(compare_with(a, b, rounded, 1).pass);
  // The output's own type counts where it is the coarser one.
  EXPECT_EQ(gate_tolerance({DType::bf16, 2, DType::f16}, 1),
            gate_tolerance({DType::bf16, 2, std::nullopt}, 1));
}

TEST(GateTest, NoiseWidensTheLimitWhereItIsMore) {
  const std::vector<float> expected = {1, -1}, got = {1 + 0.01f, -1};
  const auto a = std::as_bytes(std::span(expected)), b = std::as_bytes(std::span(got));
  const BenchOutput plain{.dtype = DType::f32, .elements = 2},
      noisy{.dtype = DType::f32, .elements = 2, .noise = 0.002},
      noisier{.dtype = DType::f32, .elements = 2, .noise = 0.001};
  EXPECT_FALSE(compare_with(a, b, plain, 1).pass);
  EXPECT_TRUE(compare_with(a, b, noisy, 1).pass);
  EXPECT_FALSE(compare_with(a, b, noisier, 1).pass);  // an RMSE of 0.007
  EXPECT_EQ(gate_limit(noisy, 1, 1e6), gate_tolerance(noisy, 1) * 1e6);
}

BenchJob job_of(DType dtype, std::vector<ReferenceSample> reference) {
  BenchJob job;
  job.outputs = {{dtype, 4, std::nullopt}, {dtype, 4, std::nullopt}};
  job.reference = std::move(reference);
  return job;
}

TEST(GateTest, ReferenceSamplesAreHeldAgainstTheirElements) {
  const BenchJob job = job_of(DType::f32, {{0, 1, 0.5}, {0, 3, -2.25}, {1, 0, 7}});
  const std::vector<float> right = {9, 0.5f, 9, -2.25f * (1 + 1e-7f)};
  GateResult result = compare_with_reference(job, 0, std::as_bytes(std::span(right)));
  EXPECT_TRUE(result.pass) << result.reason;
  EXPECT_GT(result.error, 0);
  result = compare_with_reference(job, 1, std::as_bytes(std::span(right)));
  EXPECT_FALSE(result.pass);
  EXPECT_NE(result.reason.find("element 0 is 9, not 7"), std::string::npos) << result.reason;
}

TEST(GateTest, ReferenceSamplesOfIntegersAndInfinities) {
  const std::vector<int64_t> numbers = {1, 2, 3, 4};
  EXPECT_TRUE(
      compare_with_reference(job_of(DType::i64, {{0, 2, 3}}), 0, std::as_bytes(std::span(numbers)))
          .pass);
  EXPECT_EQ(
      compare_with_reference(job_of(DType::i64, {{0, 2, 5}}), 0, std::as_bytes(std::span(numbers)))
          .reason,
      "element 2 is 3, not 5");
  // 1e6 is an infinity in f16.
  const std::vector<uint16_t> halves = {0x7c00, 0x3c00, 0, 0};
  EXPECT_TRUE(compare_with_reference(job_of(DType::f16, {{0, 0, 1e6}, {0, 1, 1}}), 0,
                                     std::as_bytes(std::span(halves)))
                  .pass);
  EXPECT_FALSE(compare_with_reference(job_of(DType::f16, {{0, 0, 1}, {0, 1, 1}}), 0,
                                      std::as_bytes(std::span(halves)))
                   .pass);
}

}  // namespace
}  // namespace tcc::autotune
