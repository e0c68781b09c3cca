// Judging a new run by its history: the stated rate of false alarms, and what is seen.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tcc/track.hpp"

namespace tcc::track {
namespace {

using Verdict = CaseResult::Verdict;

// Run-to-run noise: of one in twenty runs, `tail` times as large; neighbours correlated by
// `memory`.
class Machine {
 public:
  Machine(uint64_t seed, double deviation, double tail = 1, double memory = 0)
      : random_(seed), deviation_(deviation), tail_(tail), memory_(memory) {}

  double value(double change = 0) {
    const double noise = normal_(random_) * (uniform_(random_) < 0.05 ? tail_ : 1);
    last_ = memory_ * last_ + std::sqrt(1 - memory_ * memory_) * noise;
    return 1e-4 * std::exp(deviation_ * last_) * (1 + change);
  }
  NextRun run(size_t runs, double change = 0) {
    NextRun result;
    for (size_t i = 0; i < runs; ++i) result.history.push_back(value());
    result.value = value(change);
    return result;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_{0, 1};
  double deviation_, tail_, memory_, last_ = 0;
};

// The number of runs that report anything, among `times` with 40 histories each.
int alarms(Machine machine, int times, size_t runs) {
  int count = 0;
  for (int i = 0; i < times; ++i) {
    std::vector<NextRun> all;
    for (int k = 0; k < 40; ++k) all.push_back(machine.run(runs));
    int reported = 0;
    for (const CaseResult& one : judge(all, {.smallest = 0.001}))
      reported += one.verdict == Verdict::slower || one.verdict == Verdict::faster;
    count += reported > 0;
  }
  return count;
}

// 5 % are stated, of whole runs. 70 of 1,000 or more would be an accident of 0.3 %, 15 of 150 one
// of 1 %.
TEST(TrackJudge, FalseAlarmsAreAsRareAsStated) {
  EXPECT_LE(alarms(Machine(1, 0.01), 150, 30), 14);
  EXPECT_LE(alarms(Machine(2, 0.01), 1000, 8), 69);
  EXPECT_LE(alarms(Machine(3, 0.01, 1, 0.5), 150, 30), 14) << "slow waves";
}

// One run in twenty is three times as noisy: the normal distribution would call four runs of ten
// changed.
TEST(TrackJudge, OutliersAreNoChanges) { EXPECT_LE(alarms(Machine(4, 0.01, 3), 150, 60), 14); }

TEST(TrackJudge, SeesWhatItSaysItSees) {
  Machine machine(5, 0.005);
  int seen = 0;
  double visible = 0;
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) {
    std::vector<NextRun> all;
    for (int k = 0; k < 20; ++k) all.push_back(machine.run(30));
    all.push_back(machine.run(30, 0.04));
    const auto results = judge(all);
    seen += results.back().verdict == Verdict::slower;
    visible += results.back().visible / kTimes;
  }
  EXPECT_GT(visible, 0.015);
  EXPECT_LT(visible, 0.04);
  EXPECT_GE(seen, kTimes * 95 / 100);
}

TEST(TrackJudge, SaysTheEffectAndItsInterval) {
  std::vector<NextRun> one(1);
  one[0].name = "a";
  for (int i = 0; i < 20; ++i) one[0].history.push_back(i % 2 == 0 ? 1.001 : 0.999);
  one[0].value = 1.05;
  const CaseResult slower = judge(one).front();
  EXPECT_EQ(slower.verdict, Verdict::slower);
  EXPECT_NEAR(slower.effect.ratio, 1.05, 1e-4);
  EXPECT_LT(slower.effect.low, 1.05);
  EXPECT_GT(slower.effect.low, 1.04);
  EXPECT_EQ(slower.effect.blocks, 20u);
  one[0].value = 0.95;
  EXPECT_EQ(judge(one).front().verdict, Verdict::faster);
  one[0].value = 1.003;
  EXPECT_EQ(judge(one).front().verdict, Verdict::same) << "within half of the smallest";
  one[0].value = 1.05;
  one[0].ignored = 0.1;
  EXPECT_EQ(judge(one).front().verdict, Verdict::same) << "it ignores more";
}

// The level before a step does not predict the next run.
TEST(TrackJudge, TakesTheLevelAfterTheLastChange) {
  Machine machine(6, 0.004);
  std::vector<NextRun> one(1);
  for (int i = 0; i < 40; ++i) one[0].history.push_back(machine.value());
  for (int i = 0; i < 20; ++i) one[0].history.push_back(machine.value(0.2));
  one[0].value = machine.value(0.2);
  const CaseResult result = judge(one, {.smallest = 0.04}).front();
  EXPECT_EQ(result.verdict, Verdict::same) << result.reason;
  EXPECT_NEAR(static_cast<double>(result.effect.blocks), 20, 2);
  one[0].value = machine.value(0);
  EXPECT_EQ(judge(one, {.smallest = 0.04}).front().verdict, Verdict::faster);
}

// A changed program gets the same answer in every new run, until its level has six runs.
TEST(TrackJudge, AChangeStaysReportedUntilItsLevelIsKnown) {
  Machine machine(8, 0.01);
  for (const double change : {0.2, -0.2}) {
    for (size_t after = 0; after < 10; ++after) {
      std::vector<NextRun> one = {machine.run(20, change)};
      for (size_t i = 0; i < after; ++i) one[0].history.push_back(machine.value(change));
      const CaseResult result = judge(one, {.smallest = 0.1}).front();
      if (after < 6) {
        EXPECT_EQ(result.verdict, change > 0 ? Verdict::slower : Verdict::faster) << after;
        EXPECT_NEAR(static_cast<double>(result.effect.blocks), 20, 1) << after;
      } else {
        EXPECT_EQ(result.effect.blocks, after);
        EXPECT_NEAR(result.effect.ratio, 1, 0.05) << after;
      }
    }
  }
}

// Runs with two levels of noise, measured on a busy machine, and a program that became 4 to 8 times
// as slow.
TEST(TrackJudge, AChangeStaysReportedInTwoLevelsOfNoise) {
  NextRun run;
  run.name = "norm";
  run.history = {.981, .988, 1.743, 1.777, 1.117, .957, 1.768, 1.777};
  for (const double value : {10.952, 10.959, 10.928, 6.884, 5.859, 6.641}) {
    run.value = value;
    EXPECT_EQ(judge(std::span(&run, 1), {.smallest = 0.05}).front().verdict, Verdict::slower)
        << run.history.size();
    run.history.push_back(value);
  }
}

TEST(TrackJudge, KnowsWhatItCannotMeasure) {
  Machine machine(7, 0.2);
  std::vector<NextRun> all = {machine.run(3), machine.run(30), {}};
  all[2].name = "new";
  all[2].value = 1;
  const auto results = judge(all);
  for (const CaseResult& one : results) EXPECT_EQ(one.verdict, Verdict::unmeasurable);
  EXPECT_EQ(results[0].reason, "3 runs in its history, 6 are needed");
  EXPECT_NE(results[1].reason.find("runs differ too much"), std::string::npos);
  EXPECT_EQ(results[2].reason, "0 runs in its history, 6 are needed");
  all[2].value = 0;
  EXPECT_THROW(judge(all), Error);
  EXPECT_THROW(judge({}, {.false_alarms = 0}), Error);
  EXPECT_TRUE(judge({}).empty());
}

}  // namespace
}  // namespace tcc::track
