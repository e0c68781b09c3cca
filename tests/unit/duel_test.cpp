#include "autotune/duel.h"

#include <gtest/gtest.h>

#include "autotune/finals.h"
#include "tests/unit/simulated_meter.h"

namespace tcc::autotune {
namespace {

exec::StandaloneKernel kernel(const std::string& config) {
  exec::StandaloneKernel binary;
  binary.config = config;
  return binary;
}

// Kernels whose config is their time.
struct DuelTest : testing::Test {
  DuelTest() {
    device.seconds = [](const std::string& config) { return std::stod(config); };
  }
  DuelResult play(const std::string& incumbent, const std::string& challenger) {
    SimulatedMeter meter(device);
    return duel(meter, kernel(incumbent), kernel(challenger));
  }
  SimulatedDevice device;
};

TEST_F(DuelTest, AWinnerWinsTwice) {
  const DuelResult result = play("2", "1");
  EXPECT_TRUE(result.won());
  EXPECT_FALSE(result.lost());
  EXPECT_EQ(result.ratio, 0.5);
  EXPECT_EQ(device.duels, 2u);
  EXPECT_EQ(result.pairs, result.incumbent.samples.size());
}

TEST_F(DuelTest, OneRoundIsEnoughToLose) {
  const DuelResult result = play("1", "2");
  EXPECT_TRUE(result.lost());
  EXPECT_EQ(device.duels, 1u);
  EXPECT_FALSE(play("1", "0.995").won()) << "half a percent is no gain";
}

TEST_F(DuelTest, ALoadThatComesAndGoesDecidesNothing) {
  device.noise = 0.5;
  for (size_t period = 1; period < 5; ++period)
    for (uint64_t seed = 0; seed < 40; ++seed) {
      device.random = RandomWords(seed);
      device.load = [=](size_t n) { return n / period % 2 == 0 ? 3.0 : 1.0; };
      EXPECT_FALSE(play("1", "1.03").won()) << seed;
      EXPECT_TRUE(play("1", "0.5").won()) << seed;
    }
}

TEST_F(DuelTest, WhatFailsDoesNotWin) {
  const DuelResult result = play("1", "0");
  EXPECT_FALSE(result.valid);
  EXPECT_FALSE(result.won());
  EXPECT_TRUE(result.lost());
}

// A load that is there for other runs of the two moves one median, and few of the ratios.
TEST_F(DuelTest, NothingWinsAgainstItsOwnMedian) {
  DuelResult result;
  result.valid = true;
  result.pairs = 20;
  result.ratio = 0.9;
  result.interval = {0.85, 0.95};
  result.incumbent.seconds = 1;
  result.challenger.seconds = 0.97;
  EXPECT_TRUE(result.won());
  EXPECT_DOUBLE_EQ(result.incumbent_seconds(), 0.97 / 0.9);
  result.challenger.seconds = 1.01;
  EXPECT_FALSE(result.won());
}

TEST(OrderInterval, HoldsTheMedianOfAnyDistribution) {
  EXPECT_EQ(order_interval(std::vector<double>{3}).low, 3);
  const std::vector<double> six = {6, 1, 5, 2, 4, 3};
  EXPECT_EQ(order_interval(six).low, 1);
  EXPECT_EQ(order_interval(six).high, 6);
  const std::vector<double> nine = {9, 1, 5, 2, 4, 3, 6, 8, 7};
  EXPECT_EQ(order_interval(nine).low, 2);  // the sign test's table: 9 values, the second
  EXPECT_EQ(order_interval(nine).high, 8);
  // 1 of 20 may miss it: skewed samples, with outliers.
  for (const size_t count : {6, 7, 12, 25, 50, 200}) {
    int missed = 0;
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      RandomWords random(seed);
      std::vector<double> values(count);
      for (double& value : values) value = 1 / (random.uniform(0, 1) + 1e-9);
      const Interval interval = order_interval(values);
      missed += interval.low > 2 || interval.high < 2;  // the median of 1 / u
    }
    EXPECT_LE(missed, 65) << count;
  }
}

LoggedTrial trial(int64_t number, double seconds, double spread, Effort effort = Effort::full) {
  LoggedTrial result;
  result.config = {{"n", number}};
  result.effort = effort;
  result.result.status = Measurement::Status::measured;
  result.result.seconds = seconds;
  result.result.low = seconds * (1 - spread);
  result.result.high = seconds * (1 + spread);
  return result;
}

TEST(FinalistsTest, WithoutTheIncumbentTheFastestAndWhatMayBe) {
  const std::vector<LoggedTrial> trials = {trial(1, 0.5, 0), trial(2, 1, 0.01),
                                           trial(3, 1.02, 0.01, Effort::quick), trial(4, 1.2, 0.01),
                                           trial(5, 1.3, 0.4)};
  const auto configs = finalists(trials, {{"n", 1}});
  ASSERT_EQ(configs.size(), 3u);
  EXPECT_EQ(configs[0]["n"], 2);
  EXPECT_EQ(configs[1]["n"], 3);
  EXPECT_EQ(configs[2]["n"], 5) << "its interval reaches the fastest";
  EXPECT_TRUE(finalists({trial(1, 0.5, 0)}, {{"n", 1}}).empty());
}

}  // namespace
}  // namespace tcc::autotune
