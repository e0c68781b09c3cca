#include "tools/tune/verify.h"

#include <gtest/gtest.h>

namespace tcc::tools {
namespace {

using autotune::Measurement;

Measurement timed(double seconds, double half_interval) {
  Measurement result;
  result.status = Measurement::Status::measured;
  result.seconds = seconds;
  result.low = seconds - half_interval;
  result.high = seconds + half_interval;
  return result;
}

TEST(VerifyTest, RivalsMustBeFasterThanTheThresholdAndBeyondTheInterval) {
  Verified verified{.incumbent = timed(100, 1), .against_default = {}, .against_runner_up = {}};
  EXPECT_EQ(regression(verified, 0.05), "");
  verified.against_default = {timed(100, 1), timed(97, 1)};
  EXPECT_EQ(regression(verified, 0.05), "") << "3 % are within the threshold";
  EXPECT_EQ(regression(verified, 0.01), "slower than the default");
  verified.against_default = {timed(100, 10), timed(90, 10)};
  EXPECT_EQ(regression(verified, 0.05), "") << "the intervals overlap";
  verified.against_default = {timed(100, 1), timed(120, 1)};
  verified.against_runner_up = {timed(100, 1), timed(90, 1)};
  EXPECT_EQ(regression(verified, 0.05), "slower than the runner-up");
}

TEST(VerifyTest, AnIncumbentThatFailsIsARegression) {
  Verified verified;
  verified.incumbent.status = Measurement::Status::wrong;
  verified.incumbent.reason = "element 3 is 1, not 2";
  EXPECT_EQ(regression(verified, 0.05), "wrong: element 3 is 1, not 2");
}

TEST(VerifyTest, ARivalThatFailsIsNone) {
  Verified verified{.incumbent = timed(100, 1), .against_default = {}, .against_runner_up = {}};
  Measurement crashed = timed(1, 0);
  crashed.status = Measurement::Status::crashed;
  verified.against_runner_up = {timed(100, 1), crashed};
  EXPECT_EQ(regression(verified, 0.05), "");
}

}  // namespace
}  // namespace tcc::tools
