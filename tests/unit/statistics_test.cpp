// Medians and their intervals.
#include "autotune/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "autotune/random_words.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

std::vector<double> draw(uint64_t seed, size_t count) {
  RandomWords random(seed);
  std::vector<double> values(count);
  // Skewed, as times are: median exp(0) = 1.
  for (double& value : values) {
    double normal = -6;
    for (int k = 0; k < 12; ++k) normal += random.uniform(0, 1);
    value = std::exp(0.2 * normal);
  }
  return values;
}

TEST(StatisticsTest, Median) {
  EXPECT_EQ(median(std::vector<double>{3}), 3);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3}), 3);
  EXPECT_EQ(median(std::vector<double>{8, 1, 3, 2}), 2.5);
  EXPECT_THROW(median({}), InternalError);
}

TEST(StatisticsTest, IntervalsAreReproducibleAndHoldTheMedian) {
  const auto values = draw(1, 30);
  const Interval one = median_interval(values), two = median_interval(values);
  EXPECT_EQ(one.low, two.low);
  EXPECT_EQ(one.high, two.high);
  EXPECT_LE(one.low, median(values));
  EXPECT_GE(one.high, median(values));
  EXPECT_LT(one.low, one.high);
  const Interval point = median_interval(std::vector<double>{2});
  EXPECT_EQ(point.low, 2);
  EXPECT_EQ(point.high, 2);
  EXPECT_THROW(median_interval({}), InternalError);
}

TEST(StatisticsTest, MoreSamplesGiveNarrowerIntervals) {
  const double few = median_interval(draw(1, 10)).relative_half_width(1);
  const double many = median_interval(draw(1, 1000)).relative_half_width(1);
  EXPECT_LT(many, few / 3);
}

// 95 % of 400 experiments with 30 samples hold the true median, give or take 4 sigma.
TEST(StatisticsTest, IntervalsCoverTheTrueMedian) {
  int covered = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Interval interval = median_interval(draw(seed, 30));
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_NEAR(covered, 380, 18);
}

}  // namespace
}  // namespace tcc::autotune
