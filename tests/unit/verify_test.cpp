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

// The challenger takes so many times as long as the record's config, give or take.
autotune::DuelResult duel(double ratio, double half_interval) {
  autotune::DuelResult result;
  result.ratio = ratio;
  result.interval = {ratio - half_interval, ratio + half_interval};
  result.pairs = 12;
  result.valid = true;
  return result;
}

TEST(VerifyTest, RivalsMustBeFasterThanTheThresholdAndBeyondTheInterval) {
  Verified verified;
  verified.incumbent = timed(100, 1);
  EXPECT_EQ(regression(verified, 0.05), "");
  verified.against_default = duel(0.97, 0.01);
  EXPECT_EQ(regression(verified, 0.05), "") << "3 % are within the threshold";
  EXPECT_EQ(regression(verified, 0.01), "slower than the default");
  verified.against_default = duel(0.9, 0.2);
  EXPECT_EQ(regression(verified, 0.05), "") << "the interval says nothing";
  verified.against_default = duel(0.9, 0.01);
  verified.against_default->pairs = 3;
  EXPECT_EQ(regression(verified, 0.05), "") << "of too few runs";
  verified.against_default = duel(1.2, 0.01);
  verified.against_runner_up = duel(0.9, 0.01);
  EXPECT_EQ(regression(verified, 0.05), "slower than the runner-up");
  verified.against_shadowed = duel(0.8, 0.01);
  EXPECT_EQ(regression(verified, 0.05), "slower than what it shadows");
}

TEST(VerifyTest, AnIncumbentThatFailsIsARegression) {
  Verified verified;
  verified.incumbent.status = Measurement::Status::wrong;
  verified.incumbent.reason = "element 3 is 1, not 2";
  EXPECT_EQ(regression(verified, 0.05), "wrong: element 3 is 1, not 2");
}

TEST(VerifyTest, ARivalThatFailsIsNone) {
  Verified verified;
  verified.incumbent = timed(100, 1);
  verified.against_runner_up = duel(0.01, 0);
  verified.against_runner_up->valid = false;
  EXPECT_EQ(regression(verified, 0.05), "");
}

}  // namespace
}  // namespace tcc::tools
